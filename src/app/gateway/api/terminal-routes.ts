/**
 * The terminal: a person's text as `rookery send` and `rookery chat` send it, with its commands, and the replies to it. A terminal
 * waits for its own answers, so its messages have no address for a delivery: the replies are read from the message and its run.
 * The owner sits there, or a guest with a token, who reaches only what belongs to that guest.
 */
import { z } from "zod";
import { commandsOn } from "../../../config/commands-on.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { TERMINAL_CHANNEL } from "../../../core/delivery/route.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { isSettled, type Message } from "../../../core/message/message.ts";
import { queueModeSchema } from "../../../core/message/queue.ts";
import { wasTaken } from "../../../core/message/unanswered-message.ts";
import { isSilentReply } from "../../../engine/outbox/create-deliveries.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";
import { accepted } from "../messages/accept-once.ts";
import { MAX_FILES } from "../messages/message-files.ts";
import { settledWithin } from "../messages/settled-within.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { acceptedSchema, type TerminalReply, terminalReplySchema } from "../schemas/message.ts";
import { modelLoginSchema, refusedKeySchema } from "../schemas/status.ts";
import { agentParams, numberQuery, requireAgent } from "./params.ts";
import { postOwners, postPersons } from "./post-typed.ts";
import { addressAt, MAX_THREAD, namedAt, seatOf } from "./terminal-seat.ts";

const MAX_WAIT_SECONDS = 60;

/** Default: the owner, or the token's person. */
const user = z.string().trim().min(1).max(256).optional();
/** Which conversation, one of them. Default: where a person at the terminal speaks. */
const conversation = {
  agent: z.string().trim().min(1).max(512).optional().describe("An agent by its id, session key or name"),
  thread: z.string().trim().min(1).max(MAX_THREAD).optional().describe("A conversation of the person"),
  to: z.string().trim().min(1).max(512).optional().describe("An agent; if none has this name, a conversation"),
};

const terminalRoute = defineRoute({
  name: "getTerminal",
  method: "GET",
  path: "/api/terminal",
  access: "chat",
  action: "message",
  own: true,
  tag: "inbox",
  summary: "Where a person at the terminal speaks: the conversation, its model, context and settings, today's cost",
  query: z.strictObject({ user, ...conversation }),
  output: z.strictObject({
    model: z.string().nullable(),
    why: z.string().nullable().describe("Why it is this model."),
    thinking: z.string().nullable(),
    verbose: z.string().nullable(),
    reasoning: z.string().nullable(),
    queueMode: queueModeSchema,
    context: z
      .strictObject({ used: z.number().nullable(), window: z.number().nullable() })
      .describe("Tokens of the last call, and how many there may be."),
    today: z
      .strictObject({ tokens: z.number(), dollars: z.number() })
      .describe("Of all agents that count, since midnight."),
    version: z.string(),
    startedAt: z.number(),
    url: z.string().nullable(),
    terminal: z.string().nullable(),
    agentId: z.string().nullable(),
    sessionKey: z.string(),
    commands: z.boolean(),
    logins: z.union([z.array(z.never()), z.array(modelLoginSchema)]),
    refusedKeys: z.union([z.array(z.never()), z.array(refusedKeySchema)]),
  }),
  async handle({ context, principal, query }) {
    const { version, startedAt } = context;
    const seat = seatOf(principal, query.user);
    const named = await namedAt({ context, principal }, seat, query);
    const address = addressAt(context, seat, named.thread);
    const agent = named.agent ?? (await context.ports.store.agentByKey(address.sessionKey));
    const { profile, sessionKey } = agent ?? address;
    const { channel } = seat;
    const counts = isConfined(principal)
      ? (one: AgentRecord | undefined) => one !== undefined && seesAgent(principal, one)
      : undefined;
    const described = await context.agents.describe({ agent, profile, channel, counts });
    const commands = commandsOn(context.settings.current.commands, TERMINAL_CHANNEL);
    const terminal = seat.kind === "owner" ? seat.user : null;
    const facts = { version, startedAt, url: terminal === null ? null : urlOf(context), terminal };
    const { logins, refusedKeys } = terminal === null ? { logins: [], refusedKeys: [] } : described;
    return { json: { ...facts, agentId: agent?.id ?? null, sessionKey, commands, ...described, logins, refusedKeys } };
  },
});

/** Where the owner's browser and phone find it. */
const urlOf = ({ settings, address }: GatewayContext): string | null =>
  settings.current.gateway.publicUrl ?? address.url ?? null;

const sendBody = z.strictObject({
  user,
  ...conversation,
  /** May be empty if there are files. */
  text: z.string().trim(),
  /** The ids of uploaded files. */
  files: z.array(z.string().min(1).max(128)).max(MAX_FILES).optional(),
  /** The text is one line of several: each is answered on its own. */
  line: z.boolean().optional(),
});

const sendRoute = defineRoute({
  name: "sendTyped",
  method: "POST",
  path: "/api/terminal/messages",
  access: "chat",
  action: "message",
  own: true,
  tag: "inbox",
  summary: "Send a text as a person at the terminal; commands such as /reset are carried out",
  example: { text: "hello" },
  body: sendBody,
  longText: "file",
  output: { 202: z.strictObject({ messages: z.array(acceptedSchema) }) },
  async handle(call) {
    if (call.body.text === "" && !call.body.files?.length)
      throw new HttpError(400, "invalid_input", "text: is empty", { param: "text" });
    const seat = seatOf(call.principal, call.body.user);
    const named = await namedAt(call, seat, call.body);
    const posts = seat.kind === "owner" ? await postOwners(call, seat, named) : await postPersons(call, seat, named);
    return { status: 202 as const, json: { messages: posts.map((posted) => accepted(posted).json) } };
  },
});

const repliesRoute = defineRoute({
  name: "getReplies",
  method: "GET",
  path: "/api/terminal/messages/:agent/:seq",
  access: "chat",
  action: "message",
  own: true,
  tag: "inbox",
  summary: "The replies to a text of the terminal; waits up to `waitSeconds` for them",
  params: agentParams.extend({
    seq: z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  }),
  query: z.strictObject({ waitSeconds: numberQuery(MAX_WAIT_SECONDS) }),
  output: z.strictObject({
    settled: z.boolean(),
    runId: z.string().nullable(),
    replies: z.array(terminalReplySchema),
    unanswered: z.strictObject({ reason: z.string(), failed: z.boolean() }).nullable(),
    historyEnd: z.number().nullable(),
  }),
  async handle({ context, principal, params: { agent, seq }, query: { waitSeconds = 0 } }) {
    const { id } = await requireAgent({ context, principal }, agent);
    const before = await context.ports.store.message(id, seq);
    if (!before) throw new NotFoundError(`This agent has no message ${seq}.`);
    if (!isSettled(before)) await settledWithin(context, id, seq, waitSeconds * 1_000);
    const message = await context.ports.store.message(id, seq);
    if (!message) return { json: { settled: true, ...NO_REPLY } };
    if (!isSettled(message)) return { json: { settled: false, ...NO_REPLY } };
    const replies = await repliesTo(context, message);
    const unanswered = replies.length === 0 ? whyUnanswered(message) : null;
    const runId = wasTaken(message) ? (message.runId ?? null) : null;
    // Read after the message was settled, so its entry stands before it.
    const historyEnd = hasEntry(message) ? ((await context.ports.store.agent(id))?.nextPos ?? null) : null;
    return { json: { settled: true, runId, replies, unanswered, historyEnd } };
  },
});

const NO_REPLY = { runId: null, replies: [], unanswered: null, historyEnd: null };

/** Commands are in no history. */
const hasEntry = (message: Message): boolean => wasTaken(message) && message.body.kind === "user";

async function repliesTo({ ports }: GatewayContext, message: Message): Promise<readonly TerminalReply[]> {
  const { state, reason, runId, body } = message;
  const result = runId && wasTaken(message) && (await readRunResult(ports.store, runId));
  if (result) {
    return result.payloads.flatMap(({ text = "", isError = false }) =>
      text.trim() === "" || isSilentReply(text) ? [] : [{ text, isError }],
    );
  }
  // A command that needs no run is answered by the reason it was settled with.
  if (state === "recorded") return body.kind === "user" ? [] : [{ text: reason ?? "", isError: false }];
  return [{ text: `The message was ${state}${reason ? `: ${reason}` : "."}`, isError: true }];
}

/** `failed`: no one decided that there is no reply. */
function whyUnanswered({ state, reason }: Message): { readonly reason: string; readonly failed: boolean } | null {
  if (state === "recorded" || state === "merged") return null;
  if (state === "answered") return { reason: "suppressed (the agent had nothing to say)", failed: false };
  return { reason: reason ? `${state} (${reason})` : state, failed: true };
}

export const terminalRoutes: readonly Route[] = [terminalRoute, sendRoute, repliesRoute];
