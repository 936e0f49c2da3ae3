/** Agents: who there is, what was said, what waits; and saying something to one, resetting and stopping it. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { labelOf } from "../../../core/agent/descriptor.ts";
import type { StatePatch } from "../../../core/agent/patch-state.ts";
import { NotFoundError, TimeoutError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { agentIdSchema } from "../../../core/id-schemas.ts";
import { type AgentId, type EntryId, messageId } from "../../../core/ids.ts";
import { messageStateSchema } from "../../../core/message/message.ts";
import { queueSettingsSchema } from "../../../core/message/queue.ts";
import { type Call, defineRoute } from "../http/route.ts";
import { answerOfResult, readAnswer } from "../openai/answer.ts";
import { acceptOnce } from "./accept-once.ts";
import { agentOf, agentParams, limitQuery, numberQuery } from "./inputs.ts";

const BRANCH_MS = 30_000;

/** An agent as a list shows it. */
export function shownAgent(agent: AgentRecord) {
  const { id, sessionKey, profile, descriptor, sessionId, waiting, runId, lastHumanAt, createdAt, stopped, node } =
    agent;
  const { label, displayName, updatedAt } = agent.state;
  return {
    id,
    sessionKey,
    kind: descriptor.type,
    label: label ?? displayName ?? labelOf(descriptor),
    profile,
    descriptor,
    sessionId,
    waiting,
    runId: runId ?? null,
    lastHumanAt: lastHumanAt ?? null,
    updatedAt,
    createdAt,
    stopped: stopped ?? null,
    node: node ?? null,
  };
}

export const agentsRoute = defineRoute({
  method: "GET",
  path: "/api/agents",
  access: "read",
  tag: "agents",
  summary: "List agents in the order they were made",
  query: z.object({ after: agentIdSchema.optional(), limit: limitQuery(500, 100) }),
  answers: { status: 200, holds: "`{ agents: [...], next }`; `next` goes into `after`" },
  async handle({ context, query: { after, limit } }) {
    const agents = await context.ports.store.agents({ limit, after });
    return { json: { agents: agents.map(shownAgent), next: agents.length === limit ? agents.at(-1)?.id : null } };
  },
});

export const agentRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent",
  access: "read",
  tag: "agents",
  summary: "One agent, by id or session key, with its state",
  params: agentParams,
  answers: { status: 200, holds: "the agent" },
  async handle({ context, params }) {
    const agent = await agentOf(context, params.agent);
    const { cursor, nextSeq, nextPos, leaf, epoch, state } = agent;
    return { json: { ...shownAgent(agent), cursor, nextSeq, nextPos, leaf, epoch, state } };
  },
});

export const historyRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/history",
  access: "read",
  tag: "agents",
  summary: "A page of an agent's history, newest entries first",
  params: agentParams,
  query: z.object({ before: numberQuery(), limit: limitQuery(500, 50) }),
  answers: { status: 200, holds: "`{ entries: [{ position, entry }], next }`; `next` goes into `before`" },
  async handle({ context, params, query: { before, limit } }) {
    const { id } = await agentOf(context, params.agent);
    const lines = await context.ports.store.linesBack(id, { limit, before });
    const entries = lines.map(({ position, line }) => {
      const read = readEntry(line);
      // What cannot be read is shown as it stands.
      return read.kind === "broken" ? { position, broken: read.reason, line } : { position, entry: JSON.parse(line) };
    });
    return { json: { entries, next: lines.length === limit ? lines.at(-1)?.position : null } };
  },
});

export const inboxRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/inbox",
  access: "read",
  tag: "inbox",
  summary: "What waits at an agent, what will become of it, and what was dropped",
  params: agentParams,
  answers: { status: 200, holds: "the run under way, the messages that wait, the latest that were dropped" },
  async handle({ context, params }) {
    const { id } = await agentOf(context, params.agent);
    return { json: await context.agents.whatWaits(id) };
  },
});

export const messagesRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/messages",
  access: "read",
  tag: "inbox",
  summary: "An agent's messages, newest first, and how each ended",
  params: agentParams,
  query: z.object({ before: numberQuery(), limit: limitQuery(500, 50), state: messageStateSchema.optional() }),
  answers: { status: 200, holds: "`{ messages: [...], next }`; `next` goes into `before`" },
  async handle({ context, params, query: { before, limit, state } }) {
    const { id } = await agentOf(context, params.agent);
    const page = { limit, beforeSeq: before, ...(state ? { states: [state] } : {}) };
    const messages = await context.ports.store.messages(id, page);
    return { json: { messages, next: messages.length === limit ? messages.at(-1)?.seq : null } };
  },
});

const seqParams = agentParams.extend({
  seq: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
});

export const messageRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/messages/:seq",
  access: "read",
  tag: "inbox",
  summary: "One message, and the answer to it if there is one",
  params: seqParams,
  answers: { status: 200, holds: "`{ message, answer }`; `answer` is null until the message is settled" },
  async handle({ context, params }) {
    const { id } = await agentOf(context, params.agent);
    const message = await context.ports.store.message(id, params.seq);
    if (!message) throw new NotFoundError(`There is no message ${params.seq} at this agent.`);
    return { json: { message, answer: (await readAnswer(context.ports, id, params.seq)) ?? null } };
  },
});

export const sayRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/messages",
  access: "operate",
  tag: "inbox",
  summary: "Say something to an agent; durable when it is answered 202",
  params: agentParams,
  body: z.strictObject({
    text: z.string().trim().min(1).max(1_000_000),
    sender: z.strictObject({ id: z.string().min(1).max(256), name: z.string().max(256).optional() }).optional(),
    queue: queueSettingsSchema.partial().optional(),
    /** Wait so long for the answer; it comes with a 200 then. */
    waitSeconds: z.number().min(0).max(600).optional(),
  }),
  accepts: true,
  answers: {
    status: 202,
    holds: "`{ agentId, seq, messageId, duplicate }`; 200 with `answer` where it was waited for",
  },
  async handle(call) {
    const { context, params, body } = call;
    const { id } = await agentOf(context, params.agent);
    const { text, sender, queue, waitSeconds } = body;
    const posted = await acceptOnce(call, {
      to: { agentId: id },
      body: { kind: "user", text, ...(sender ? { sender } : {}), ...(queue ? { queue } : {}) },
    });
    const { agentId, seq, duplicate } = posted;
    const accepted = { agentId, seq, messageId: messageId(agentId, seq), duplicate };
    if (!waitSeconds) return { status: 202, json: accepted };
    const waited = await context.agents.waitForMessage({ agentId, seq }, waitSeconds * 1000).catch((error) => {
      // It stays accepted, however long its answer takes.
      if (error instanceof TimeoutError) return undefined;
      throw error;
    });
    if (!waited) return { status: 202, json: { ...accepted, answer: null } };
    const answer = waited.result ? answerOfResult(waited.result, seq) : await readAnswer(context.ports, agentId, seq);
    return { json: { ...accepted, answer: answer ?? null } };
  },
});

/** A command to an agent is a message like any other: durable, in order, visible. */
const commandRoute = (name: "reset" | "stop", summary: string) =>
  defineRoute({
    method: "POST",
    path: `/api/agents/:agent/${name}`,
    access: "operate",
    tag: "agents",
    summary,
    params: agentParams,
    accepts: true,
    answers: { status: 202, holds: "`{ agentId, seq, messageId, duplicate }`" },
    async handle(call) {
      const { id } = await agentOf(call.context, (call.params as { agent: string }).agent);
      const body = name === "reset" ? ({ kind: "reset", by: "person" } as const) : ({ kind: "stop" } as const);
      const { agentId, seq, duplicate } = await acceptOnce(call as Call, { to: { agentId: id as AgentId }, body });
      return { status: 202, json: { agentId, seq, messageId: messageId(agentId, seq), duplicate } };
    },
  });

export const resetRoute = commandRoute("reset", "Begin a new session; the run under way is aborted");
export const stopRoute = commandRoute("stop", "End the run an agent is at");

export const compactRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/compact",
  access: "operate",
  tag: "agents",
  summary: "Make a summary of what was said so far; the conversation goes on from it",
  params: agentParams,
  body: z.strictObject({ instructions: z.string().trim().min(1).max(10_000).optional() }),
  bodyOptional: true,
  accepts: true,
  answers: { status: 202, holds: "`{ agentId, seq, messageId, duplicate }`; it happens in its turn" },
  async handle(call) {
    const { id } = await agentOf(call.context, call.params.agent);
    const { instructions } = call.body;
    const body = { kind: "compact", ...(instructions === undefined ? {} : { instructions }) } as const;
    const { agentId, seq, duplicate } = await acceptOnce(call, { to: { agentId: id }, body });
    return { status: 202, json: { agentId, seq, messageId: messageId(agentId, seq), duplicate } };
  },
});

export const branchRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/branch",
  access: "operate",
  tag: "agents",
  summary: "Go back to an entry of the current session: what is said next continues from there",
  params: agentParams,
  body: z.strictObject({
    entryId: z.string().min(1).max(100),
    /** What was said on the way that is left, for the agent to know. */
    summary: z.string().trim().min(1).max(100_000).optional(),
  }),
  answers: {
    status: 200,
    holds: "`{ agentId, leaf }`; 504 where its turn has not come in half a minute, and still will",
  },
  async handle({ context, params, body: { entryId, summary } }) {
    const { id } = await agentOf(context, params.agent);
    const { leaf } = await context.agents.sessions
      .branch(id, entryId as EntryId, { summary, timeoutMs: BRANCH_MS })
      .then(() => agentOf(context, id));
    return { json: { agentId: id, leaf } };
  },
});

export const patchRoute = defineRoute({
  method: "PATCH",
  path: "/api/agents/:agent/state",
  access: "operate",
  tag: "agents",
  summary:
    "Change what an agent was told to do differently: model, thinking, queue, label and the like; null clears one",
  params: agentParams,
  body: z.record(z.string().max(64), z.unknown()),
  answers: { status: 202, holds: "`{ agentId, seq, messageId, duplicate }`; its owner writes it in its turn" },
  async handle({ context, params, body }) {
    const { id } = await agentOf(context, params.agent);
    const posted = await context.agents.sessions.patch(id, body as StatePatch);
    if (posted.status === "stale") throw new NotFoundError("The change was not taken.");
    const { agentId, seq, duplicate } = posted;
    return { status: 202, json: { agentId, seq, messageId: messageId(agentId, seq), duplicate } };
  },
});

export const stopTreeRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/stop-tree",
  access: "operate",
  tag: "agents",
  summary: "Stop an agent and everything it has started; nothing of it begins any more when this is answered",
  params: agentParams,
  answers: { status: 200, holds: "`{ stopped: agentId }`" },
  async handle({ context, params, principal }) {
    const { id } = await agentOf(context, params.agent);
    await context.agents.lifecycle.stop(id, `stopped by ${principal.name}`);
    return { json: { stopped: id } };
  },
});

export const startAgainRoute = defineRoute({
  method: "POST",
  path: "/api/agents/:agent/start",
  access: "operate",
  tag: "agents",
  summary: "Take a stop back",
  params: agentParams,
  answers: { status: 200, holds: "`{ started: agentId }`" },
  async handle({ context, params }) {
    const { id } = await agentOf(context, params.agent);
    await context.agents.lifecycle.startAgain(id);
    return { json: { started: id } };
  },
});

export const removeAgentRoute = defineRoute({
  method: "DELETE",
  path: "/api/agents/:agent",
  access: "admin",
  tag: "agents",
  summary: "Stop an agent with all it has started, and remove it for ever",
  params: agentParams,
  answers: { status: 200, holds: "`{ removed: agentId }`" },
  async handle({ context, params }) {
    const { id } = await agentOf(context, params.agent);
    await context.agents.lifecycle.remove(id);
    return { json: { removed: id } };
  },
});

export const agentRunsRoute = defineRoute({
  method: "GET",
  path: "/api/agents/:agent/runs",
  access: "read",
  tag: "runs",
  summary: "An agent's latest runs, newest first",
  params: agentParams,
  query: z.object({ limit: limitQuery(200, 20) }),
  answers: { status: 200, holds: "`{ runs: [...] }`" },
  async handle({ context, params, query: { limit } }) {
    const { id } = await agentOf(context, params.agent);
    return { json: { runs: await context.ports.store.runs(id, { limit }) } };
  },
});
