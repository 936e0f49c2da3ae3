/** The inboxes of all agents together: what waits and why, what runs work on, and what got no answer. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { type Message, shownText, UNANSWERED_STATES } from "../../../core/message/message.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { withAgentNames } from "../reads/with-names.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { type InboxMessage, inboxMessageSchema } from "../schemas/message.ts";
import { limitQuery } from "./params.ts";

const CURSOR = /^(\d{1,15})\.([a-z0-9]{2,32})\.(\d{1,15})$/;
const TEXT = 2_000;
/** How many agents or messages one request looks at. What is behind them is found with `next`. */
const MOST_READ = 1_000;
const PORTION = 100;
const PER_AGENT = 50;

const listRoute = defineRoute({
  name: "listInbox",
  method: "GET",
  path: "/api/inbox",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "inbox",
  summary:
    "Messages of all agents: those that wait, those a run works on, or those that got no answer, the latest first",
  query: z.strictObject({
    state: z.enum(["waiting", "taken", "unanswered", ...UNANSWERED_STATES]).default("waiting"),
    before: z.string().max(64).optional(),
    limit: limitQuery(500, 50),
  }),
  output: pageSchema(inboxMessageSchema, "before", z.string()),
  async handle(call) {
    const { state } = call.query;
    const page = await (state === "waiting" || state === "taken" ? open(call, state) : ended(call));
    return { json: { ...page, items: await withAgentNames(call.context.ports.store, page.items) } };
  },
});

type InboxCall = Call<unknown, { state: string; before?: string; limit: number }>;

async function open(call: InboxCall, state: "waiting" | "taken") {
  const { context, principal, query } = call;
  const { store } = context.ports;
  const items: Omit<InboxMessage, "agentName">[] = [];
  let after = query.before as AgentId | undefined;
  for (let read = 0; read < MOST_READ; read += PORTION) {
    const agents = await store.busyAgents({ limit: PORTION, after });
    for (const agent of agents) {
      after = agent.id;
      if (seesAgent(principal, agent)) items.push(...(await messagesOf(call, agent, state)));
      if (items.length >= query.limit) return listOf(items, after);
    }
    if (agents.length < PORTION) return listOf(items);
  }
  return listOf(items, after ?? null);
}

async function messagesOf({ context }: InboxCall, agent: AgentRecord, state: "waiting" | "taken") {
  const { store } = context.ports;
  if (state === "taken") {
    const taken = await store.messages(agent.id, { limit: PER_AGENT, states: ["taken"] });
    return taken.map((message) => viewOf(message, agent));
  }
  const { waiting } = await context.agents.whatWaits(agent.id);
  const why = new Map(waiting.map(({ seq, will }) => [seq, will]));
  const messages = await store.waiting(agent.id, { limit: PER_AGENT });
  return messages.map((message) => ({ ...viewOf(message, agent), will: why.get(message.seq) }));
}

async function ended({ context, principal, query }: InboxCall) {
  const { store } = context.ports;
  const states = UNANSWERED_STATES.filter((one) => query.state === "unanswered" || query.state === one);
  const items: Omit<InboxMessage, "agentName">[] = [];
  let before = cursorOf(query.before);
  for (let read = 0; read < MOST_READ; read += PORTION) {
    const messages = await store.unanswered({ limit: PORTION, states, before });
    for (const message of messages) {
      before = { at: message.settledAt ?? 0, agentId: message.agentId, seq: message.seq };
      const agent = await store.agent(message.agentId);
      if (!agent || !seesAgent(principal, agent)) continue;
      items.push(viewOf(message, agent));
      if (items.length === query.limit) return listOf(items, textOf(before));
    }
    if (messages.length < PORTION) return listOf(items);
  }
  return listOf(items, before ? textOf(before) : null);
}

interface Cursor {
  readonly at: number;
  readonly agentId: AgentId;
  readonly seq: number;
}

function cursorOf(text: string | undefined): Cursor | undefined {
  const [, at, id, seq] = CURSOR.exec(text ?? "") ?? [];
  return at === undefined ? undefined : { at: Number(at), agentId: id as AgentId, seq: Number(seq) };
}

const textOf = ({ at, agentId, seq }: Cursor): string => `${at}.${agentId}.${seq}`;

function viewOf(message: Message, agent: AgentRecord): Omit<InboxMessage, "agentName"> {
  const { agentId, seq, body, state, reason, acceptedAt, settledAt, runId } = message;
  const { sessionKey } = agent;
  const text = shownText(body).slice(0, TEXT);
  return { agentId, sessionKey, seq, kind: body.kind, text, state, reason, acceptedAt, settledAt, runId };
}

export const allMessagesRoutes: readonly Route[] = [listRoute];
