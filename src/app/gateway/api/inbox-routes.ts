/** An agent's inbox: waiting messages, every message with its outcome, and sending a message. */
import { z } from "zod";
import { NotFoundError, TimeoutError } from "../../../core/errors.ts";
import { messageStateSchema } from "../../../core/message/message.ts";
import { queueSettingsSchema } from "../../../core/message/queue.ts";
import { accepted, acceptOnce } from "../messages/accept-once.ts";
import { mailboxFor } from "../messages/address.ts";
import { answerOfResult, readAnswer } from "../messages/answer.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { agentParams, limitQuery, nextOf, numberQuery, requireAgent } from "./params.ts";

const inboxRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/inbox",
  access: "read",
  own: true,
  tag: "inbox",
  summary: "The messages that wait at an agent, what the queue will do with them, and the latest dropped ones",
  params: agentParams,
  answers: { status: 200, holds: "the current run, the waiting messages, the latest dropped messages" },
  async handle({ context, principal, params }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    return { json: await context.agents.whatWaits(id) };
  },
});

const messagesRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/messages",
  access: "read",
  own: true,
  tag: "inbox",
  summary: "An agent's messages, newest first, and how each ended",
  params: agentParams,
  query: z.object({ before: numberQuery(), limit: limitQuery(500, 50), state: messageStateSchema.optional() }),
  answers: { status: 200, holds: "`{ messages: [...], next }`; send `next` as `before`" },
  async handle({ context, principal, params, query: { before, limit, state } }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const page = { limit, beforeSeq: before, states: state && [state] };
    const messages = await context.ports.store.messages(id, page);
    return { json: { messages, next: nextOf(messages, limit, ({ seq }) => seq) } };
  },
});

const messageParams = agentParams.extend({
  seq: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
});

const messageRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/messages/:seq",
  access: "read",
  own: true,
  tag: "inbox",
  summary: "One message, and its answer if there is one",
  params: messageParams,
  answers: { status: 200, holds: "`{ message, answer }`; `answer` is null until the message is settled" },
  async handle({ context, principal, params }) {
    const { id } = await requireAgent({ context, principal }, params.agent);
    const message = await context.ports.store.message(id, params.seq);
    if (!message) throw new NotFoundError(`This agent has no message ${params.seq}.`);
    return { json: { message, answer: (await readAnswer(context.ports, id, params.seq)) ?? null } };
  },
});

const sendRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/messages",
  access: "operate",
  tag: "inbox",
  summary: "Send a message to an agent; it is durable when the answer is 202",
  params: agentParams,
  body: z.strictObject({
    text: z.string().trim().min(1),
    sender: z.strictObject({ id: z.string().min(1).max(256), name: z.string().max(256).optional() }).optional(),
    queue: queueSettingsSchema.partial().optional(),
    /** Waits this long for the answer, which then comes with a 200. */
    waitSeconds: z.number().min(0).max(600).optional(),
  }),
  accepts: true,
  answers: {
    status: 202,
    holds:
      "`{ agentId, seq, messageId }`, and the answer goes to the mailbox; 200 with `answer` if it came within `waitSeconds`",
  },
  async handle(call) {
    const { context, params, body } = call;
    const { text, sender, queue, waitSeconds } = body;
    const message = async () => {
      const agent = await requireAgent(call, params.agent);
      // A caller that waits gets the answer in the response.
      const delivery = waitSeconds ? undefined : mailboxFor(call.principal, agent);
      const content = { kind: "user", text, sender, queue } as const;
      return { to: { agentId: agent.id }, body: content, delivery, conversation: agent.id };
    };
    const posted = await acceptOnce(call, message);
    const reply = accepted(posted);
    if (!waitSeconds) return reply;
    const { agentId, seq } = posted;
    const waited = await context.agents.waitForMessage({ agentId, seq }, waitSeconds * 1000).catch((error) => {
      // The message stays accepted; its answer comes later.
      if (error instanceof TimeoutError) return undefined;
      throw error;
    });
    if (!waited) return { ...reply, json: { ...reply.json, answer: null } };
    const answer = waited.result ? answerOfResult(waited.result, seq) : await readAnswer(context.ports, agentId, seq);
    return { json: { ...reply.json, answer: answer ?? null } };
  },
});

export const inboxRoutes: readonly Route[] = [inboxRoute, messagesRoute, messageRoute, sendRoute];
