/** An agent's inbox: waiting messages, every message with its outcome, and sending a message. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { defined } from "../../../core/defined.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { isSettled, type Message, messageStateSchema } from "../../../core/message/message.ts";
import { queueSettingsSchema } from "../../../core/message/queue.ts";
import { actorOf } from "../auth/actor.ts";
import { streamMessage } from "../events/message-stream.ts";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { HttpError } from "../http/http-error.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { type AcceptedMessage, accepted, acceptOnce, limitedBehalf } from "../messages/accept-once.ts";
import { conversationByKey, mailboxFor, senderNamed, targetNamed } from "../messages/address.ts";
import { answerOfResult, readAnswer } from "../messages/answer.ts";
import { fileDigests, MAX_FILES, messageFiles } from "../messages/message-files.ts";
import type { MessageIdentity } from "../messages/request-entry.ts";
import { settledWithin } from "../messages/settled-within.ts";
import { speakingIn } from "../messages/speaking-in.ts";
import { eventStream } from "../routing/output.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { acceptedSchema, answerSchema, messageSchema, whatWaitsSchema } from "../schemas/message.ts";
import {
  type Asking,
  agentParams,
  findAgent,
  limitQuery,
  nextOf,
  numberQuery,
  requireAgent,
  statesQuery,
} from "./params.ts";

const inboxRoute = defineRoute({
  name: "getInbox",
  method: "GET",
  path: "/api/agents/:agent/inbox",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "inbox",
  summary: "The messages that wait at an agent, what the queue will do with them, and the latest dropped ones",
  params: agentParams,
  output: whatWaitsSchema,
  async handle({ context, principal, params }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    return { json: await context.agents.whatWaits(id) };
  },
});

const messagesRoute = defineRoute({
  name: "listMessages",
  method: "GET",
  path: "/api/agents/:agent/messages",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "inbox",
  summary: "An agent's messages, newest first, and how each ended",
  params: agentParams,
  query: z.strictObject({ before: numberQuery(), limit: limitQuery(500, 50), state: statesQuery(messageStateSchema) }),
  output: pageSchema(messageSchema, "before", z.number()),
  async handle({ context, principal, params, query: { before, limit, state } }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const page = { limit, beforeSeq: before, states: state };
    const messages = await context.ports.store.messages(id, page);
    return {
      json: listOf(
        messages,
        nextOf(messages, limit, ({ seq }) => seq),
      ),
    };
  },
});

const MAX_WAIT_SECONDS = 60;

const messageParams = agentParams.extend({
  seq: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
});

const messageRoute = defineRoute({
  name: "getMessage",
  method: "GET",
  path: "/api/agents/:agent/messages/:seq",
  access: "read",
  action: "message",
  own: true,
  tag: "inbox",
  summary: "One message, and its answer if there is one; waits up to `waitSeconds` for it",
  params: messageParams,
  query: z.strictObject({ waitSeconds: numberQuery(MAX_WAIT_SECONDS) }),
  output: z.strictObject({
    message: messageSchema,
    answer: answerSchema.nullable().describe("Null until the message is settled."),
  }),
  async handle(call) {
    const { context, params, query } = call;
    const { seq } = params;
    const before = await requireMessage(call, params.agent, seq);
    const id = before.agentId;
    const ms = (query.waitSeconds ?? 0) * 1_000;
    const result = isSettled(before) ? undefined : await settledWithin(context, id, seq, ms);
    const message = await context.ports.store.message(id, seq);
    const answer = result ? answerOfResult(result, seq) : await readAnswer(context.ports, id, seq);
    return { json: { message: message ?? before, answer: answer ?? null } };
  },
});

async function requireMessage(call: Asking, agent: string, seq: number): Promise<Message> {
  const { id } = await requireAgent(call, agent);
  const message = await call.context.ports.store.message(id, seq);
  if (message) return message;
  throw new NotFoundError(`This agent has no message ${seq}.`);
}

const dropRoute = defineRoute({
  name: "dropMessage",
  method: "POST",
  path: "/api/agents/:agent/messages/:seq/drop",
  access: "operate",
  action: "manage.agent",
  tag: "inbox",
  summary: "Drop a message that waits. Its sender reads who dropped it; the audit log has a row",
  params: messageParams,
  output: messageSchema,
  errors: { 409: "It does not wait any more." },
  async handle(call) {
    const { context, principal, params, surface, record } = call;
    const { id: agentId } = await requireAgent(call, params.agent);
    const also = (json: Message) => record({ json });
    const by = actorOf(principal, surface);
    return { json: await context.agents.dropMessage({ agentId, seq: params.seq, by, also }) };
  },
});

const messageEventsRoute = defineRoute({
  name: "streamMessage",
  method: "GET",
  path: "/api/agents/:agent/messages/:seq/events",
  access: "read",
  action: "message",
  own: true,
  tag: "streams",
  summary:
    "Stream the events of the run that answers a message until it ends, as soon as a run takes it; `Last-Event-ID` continues an earlier stream",
  params: messageParams,
  output: eventStream("The events of a run"),
  errors: { 504: "No run has taken the message after a minute." },
  async handle(call) {
    assertStreamAllowed(call);
    const message = await requireMessage(call, call.params.agent, call.params.seq);
    await streamMessage(call, message, call.header("last-event-id"));
    return ANSWERED;
  },
});

const sendRoute = defineRoute({
  name: "sendMessage",
  method: "POST",
  path: "/api/agents/:agent/messages",
  access: "chat",
  action: "message",
  own: true,
  tag: "inbox",
  summary:
    "Send a message to an agent; it is durable when the answer is 202. The first message to `agent:{profile}:api:dm:{user}` creates that conversation",
  params: agentParams,
  example: { text: "hello", waitSeconds: 30 },
  body: z.strictObject({
    /** May be empty if there are files. */
    text: z.string().trim(),
    /** The ids of uploaded files. */
    files: z.array(z.string().min(1).max(128)).max(MAX_FILES).optional(),
    sender: z.strictObject({ id: z.string().min(1).max(256), name: z.string().max(256).optional() }).optional(),
    queue: queueSettingsSchema.partial().strict().optional(),
    /** Waits this long for the answer, which then comes with a 200. */
    waitSeconds: z.number().min(0).max(600).optional(),
    /** Where the answer goes: into the mailbox, or only to a caller that reads it. Default: `mailbox`, or `caller` if it waits. */
    answerTo: z.enum(["mailbox", "caller"]).optional(),
  }),
  longText: "file",
  accepts: "message",
  output: {
    202: acceptedSchema
      .extend({ answer: z.null().optional() })
      .describe("The message is durable. Its answer comes later."),
    200: acceptedSchema.extend({ answer: answerSchema }).describe("The answer came within `waitSeconds`."),
  },
  async handle(call) {
    const { context, params, body } = call;
    const { waitSeconds, answerTo = waitSeconds ? "caller" : "mailbox", ...said } = body;
    const { text, sender, queue } = said;
    if (text === "" && !body.files?.length)
      throw new HttpError(400, "invalid_input", "text: is empty", { param: "text" });
    const identity: MessageIdentity = {
      sender: senderNamed(call.principal, sender?.id),
      target: targetNamed(context.settings.current, call.principal, params.agent),
      content: async () => ({ text, files: await fileDigests(call, body.files, sender?.id) }),
      said,
    };
    const message = async (): Promise<AcceptedMessage> => {
      const agent = await findAgent(call, params.agent);
      const fresh = agent ? undefined : conversationByKey(context.settings.current, call.principal, params.agent);
      const known = agent ?? fresh ?? (await requireAgent(call, params.agent));
      const to = fresh ?? { agentId: (known as AgentRecord).id };
      const delivery = answerTo === "mailbox" ? mailboxFor(call.principal, known) : undefined;
      const { sender: named, behalf, speaker } = speakingIn(call.principal, known, sender);
      const whose = { behalf: behalf ?? limitedBehalf(call, speaker), user: sender?.id };
      const files = await messageFiles(call, body.files, whose);
      const spoken = { kind: "user", text, files, sender: named, queue } as const;
      return { to, body: spoken, delivery, speaker, ...defined({ behalf }) };
    };
    const posted = await acceptOnce(call, message, { identity });
    const reply = accepted(posted);
    if (!waitSeconds) return reply;
    const { agentId, seq } = posted;
    // After a timeout the message stays accepted; its answer comes later.
    const result = await settledWithin(context, agentId, seq, waitSeconds * 1_000);
    const answer = result ? answerOfResult(result, seq) : await readAnswer(context.ports, agentId, seq);
    return answer
      ? { ...reply, status: 200 as const, json: { ...reply.json, answer } }
      : { ...reply, json: { ...reply.json, answer: null } };
  },
});

export const inboxRoutes: readonly Route[] = [
  inboxRoute,
  messagesRoute,
  messageRoute,
  dropRoute,
  messageEventsRoute,
  sendRoute,
];
