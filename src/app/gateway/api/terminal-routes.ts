/**
 * The terminal: a person's text as `rookery run` sends it, with its commands, and the replies to it. A terminal waits for its own
 * answers, so its messages have no address for a delivery: the replies are read from the message and its run.
 */
import { z } from "zod";
import { commandsOn } from "../../../config/sections/commands.ts";
import { addressFor } from "../../../core/agent/address.ts";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import { isSettled, type Message } from "../../../core/message/message.ts";
import { OWNER } from "../../../core/people/person.ts";
import { submitText } from "../../../engine/commands/read-chat-command.ts";
import { isSilentReply } from "../../../engine/outbox/create-deliveries.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import { keyReused } from "../http/http-error.ts";
import { type AcceptedOnce, accepted, postingOf, staleError } from "../messages/accept-once.ts";
import { MAX_FILES, messageFiles } from "../messages/message-files.ts";
import { settledWithin } from "../messages/settled-within.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { addressOf, agentParams, numberQuery, requireAgent } from "./params.ts";

/** The channel of `rookery run`. Its senders are the owner, so only an admin may send as one. */
const TERMINAL = "terminal";
const MAX_WAIT_SECONDS = 60;

const user = z.string().trim().min(1).max(256);
/** Which conversation: an agent by its name, or a thread of the person. Default: where a person at the terminal speaks. */
const conversation = {
  agent: z.string().trim().min(1).max(512).optional(),
  thread: z.string().trim().min(1).max(64).optional(),
};

const terminalRoute = defineRoute({
  method: "GET",
  path: "/api/terminal",
  access: "admin",
  action: "manage.terminal",
  tag: "inbox",
  summary: "Where a person at the terminal speaks: the conversation, its model, context and settings, today's cost",
  query: z.object({ user, ...conversation }),
  answers: {
    status: 200,
    holds:
      "`{ version, startedAt, agentId, sessionKey, commands, model, why, thinking, verbose, reasoning, queueMode, context, today }`; `agentId` is null before the first message",
  },
  async handle({ context, principal, query }) {
    const { version, startedAt } = context;
    const address = addressIn(context, query);
    const agent = query.agent
      ? await requireAgent({ context, principal }, query.agent)
      : await context.ports.store.agentByKey(address.sessionKey);
    const { profile, sessionKey } = agent ?? address;
    const described = await context.agents.describe({ agent, profile, channel: TERMINAL });
    const commands = commandsOn(context.config().commands, TERMINAL);
    return { json: { version, startedAt, agentId: agent?.id ?? null, sessionKey, commands, ...described } };
  },
});

const addressIn = (context: GatewayContext, { user, thread }: { user: string; thread?: string }) =>
  addressFor({ connector: TERMINAL, userId: user, channelId: user, threadId: thread }, context.config());

const sendRoute = defineRoute({
  method: "POST",
  path: "/api/terminal/messages",
  access: "admin",
  action: "manage.terminal",
  tag: "inbox",
  summary: "Send a text as a person at the terminal; commands such as /reset are carried out",
  example: { user: "ann", text: "hello" },
  body: z.strictObject({
    user,
    ...conversation,
    text: z.string().trim().min(1),
    /** The ids of uploaded files. */
    files: z.array(z.string().min(1).max(128)).max(MAX_FILES).optional(),
    /** The text is one line of several: each is answered on its own. */
    line: z.boolean().optional(),
  }),
  answers: {
    status: 202,
    holds: "`{ messages: [{ agentId, seq, messageId }] }`; a /reset with a text is two",
  },
  async handle(call) {
    const { context, principal, keyed } = call;
    const { user, text, line, thread } = call.body;
    const named = call.body.agent === undefined ? undefined : await addressOf(call, call.body.agent);
    const source = { connector: TERMINAL, accountId: principal.id, channelId: user };
    const { behalf } = await postingOf(call);
    const files = await messageFiles(call, call.body.files, { behalf: behalf ?? { person: OWNER } });
    const posts: AcceptedOnce[] = [];
    const host = context.agents.connectorHost({ name: TERMINAL }, async ({ to: usual, body, sender }) => {
      const to = named ?? usual;
      // Each message has its own commit, and in it its own row under the key.
      const request = keyed && { ...keyed, key: `${keyed.key}#${posts.length}` };
      const posted = await context.agents.post({ to, body, source, sender, request, behalf }).catch((error) => {
        throw request && error instanceof ConflictError ? keyReused() : error;
      });
      if (posted.status === "stale") throw staleError();
      posts.push({ ...posted, isRepeated: posted.duplicate });
      return posted;
    });
    await submitText(host, {
      connector: TERMINAL,
      userId: user,
      channelId: user,
      threadId: thread,
      files,
      messageId: context.ports.ids.uuid(),
      text,
      queueDefault: line ? { mode: "queue" } : undefined,
      delivery: { channel: TERMINAL, to: user },
    });
    return { status: 202, json: { messages: posts.map((posted) => accepted(posted).json) } };
  },
});

const repliesRoute = defineRoute({
  method: "GET",
  path: "/api/terminal/messages/:agent/:seq",
  access: "admin",
  action: "manage.terminal",
  tag: "inbox",
  summary: "The replies to a text of the terminal; waits up to `waitSeconds` for them",
  params: agentParams.extend({
    seq: z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  }),
  query: z.object({ waitSeconds: numberQuery(MAX_WAIT_SECONDS) }),
  answers: {
    status: 200,
    holds:
      "`{ settled, runId, replies: [{ text, isError }], unanswered: { reason, failed } | null }`; `settled` is false after a timeout, `unanswered` says why there is no reply",
  },
  async handle({ context, principal, params: { agent, seq }, query: { waitSeconds = 0 } }) {
    const { id } = await requireAgent({ context, principal }, agent);
    const before = await context.ports.store.message(id, seq);
    if (!before) throw new NotFoundError(`This agent has no message ${seq}.`);
    if (!isSettled(before)) await settledWithin(context, id, seq, waitSeconds * 1_000);
    const message = await context.ports.store.message(id, seq);
    if (message && !isSettled(message)) return { json: { settled: false, runId: null, replies: [], unanswered: null } };
    const replies = message ? await repliesTo(context, message) : [];
    const unanswered = message && replies.length === 0 ? whyUnanswered(message) : null;
    return { json: { settled: true, runId: message?.runId ?? null, replies, unanswered } };
  },
});

interface Reply {
  readonly text: string;
  readonly isError: boolean;
}

async function repliesTo({ ports }: GatewayContext, message: Message): Promise<readonly Reply[]> {
  const { state, reason, runId, body } = message;
  const result = runId && (await readRunResult(ports.store, runId));
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
