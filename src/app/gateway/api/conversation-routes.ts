/** Conversations as a person looks for them: the latest first, by a part of their name, and by a text in their history. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { AgentId } from "../../../core/ids.ts";
import { namerOf } from "../../../core/store/agent-names.ts";
import type { Store } from "../../../core/store/store.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { agentSummaries } from "../reads/agent-list.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { conversationSchema, type FoundEntry, foundEntrySchema } from "../schemas/agent.ts";
import { pageSchema } from "../schemas/list.ts";
import { type Asking, agentParams, limitQuery, numberQuery, requireAgent } from "./params.ts";

const CURSOR = /^(\d{1,15})\.([a-z0-9]{2,32})$/;
const PORTION = 200;
/** How many conversations one request looks at. What is behind them is found with `next`. */
const MOST_READ = 4_000;
const PREVIEW_LINES = 6;
const PREVIEW_CHARACTERS = 240;

const listRoute = defineRoute({
  name: "listConversations",
  method: "GET",
  path: "/api/conversations",
  access: "read",
  action: "sessions_list",
  own: true,
  tag: "sessions",
  summary: "List conversations with people on all channels, the latest first; `q`: those with this text in their name",
  query: z.strictObject({
    q: z.string().trim().max(200).optional(),
    before: z.string().regex(CURSOR, "the `next` of a page").optional(),
    limit: limitQuery(200, 50),
  }),
  output: pageSchema(conversationSchema, "before", z.string()),
  async handle(call) {
    const { q, before, limit } = call.query;
    const { found, next } = await conversations(call, { q: q?.toLowerCase(), before, limit });
    const { store } = call.context.ports;
    const previews = await Promise.all(found.map((agent) => preview(store, agent)));
    const summaries = await agentSummaries(store, found);
    const items = previews.flatMap((shown, at) => {
      const one = summaries[at];
      return one ? [{ ...one, ...shown }] : [];
    });
    return { json: { items, next } };
  },
});

interface Wanted {
  readonly q: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

async function conversations({ context, principal }: Asking, { q, before, limit }: Wanted) {
  const { store } = context.ports;
  const found: AgentRecord[] = [];
  const namer = namerOf(store);
  const matches = async (agent: AgentRecord, text: string): Promise<boolean> =>
    `${agent.sessionKey} ${await namer.name(agent)} ${agent.person ?? ""}`.toLowerCase().includes(text);
  let cursor = cursorOf(before);
  // Of a list that shows all, no more is read than is shown.
  const portion = q || isConfined(principal) ? PORTION : limit;
  for (let read = 0; read < MOST_READ; read += portion) {
    const page = await store.recentForeground({ limit: portion, before: cursor });
    for (const agent of page) {
      cursor = { at: agent.lastHumanAt ?? 0, agentId: agent.id };
      if (!seesAgent(principal, agent) || (q && !(await matches(agent, q)))) continue;
      found.push(agent);
      if (found.length === limit) return { found, next: textOf(cursor) };
    }
    if (page.length < portion) return { found, next: null };
  }
  return { found, next: cursor ? textOf(cursor) : null };
}

function cursorOf(text: string | undefined): { at: number; agentId: AgentId } | undefined {
  const [, at, id] = CURSOR.exec(text ?? "") ?? [];
  return at === undefined ? undefined : { at: Number(at), agentId: id as AgentId };
}

const textOf = ({ at, agentId }: { at: number; agentId: AgentId }): string => `${at}.${agentId}`;

/** What was said last, and on which channel the conversation is. */
async function preview(store: Pick<Store, "linesBack">, { id, descriptor, person }: AgentRecord) {
  const channel = descriptor.type === "user" ? descriptor.connector : descriptor.type;
  const lines = await store.linesBack(id, { limit: PREVIEW_LINES });
  for (const { line } of lines) {
    const read = readEntry(line);
    if (read.kind !== "entry" || read.entry.type !== "message" || read.entry.role === "tool") continue;
    const text = said(read.entry).slice(0, PREVIEW_CHARACTERS);
    if (text !== "") return { channel, person, last: { role: read.entry.role, text, at: read.entry.timestamp } };
  }
  return { channel, person, last: null };
}

function said(entry: Entry): string {
  if (entry.type !== "message" && entry.type !== "custom_message")
    return "summary" in entry ? String(entry.summary) : "";
  return entry.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** How many lines of history one request looks at. */
const MOST_LINES = 2_000;
const LINES = 200;
const AROUND = 80;

const searchRoute = defineRoute({
  name: "searchConversation",
  method: "GET",
  path: "/api/agents/:agent/search",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "sessions",
  summary: "Find a text in an agent's history, the latest first",
  params: agentParams,
  query: z.strictObject({ q: z.string().trim().min(1).max(200), before: numberQuery(), limit: limitQuery(100, 20) }),
  output: pageSchema(foundEntrySchema, "before", z.number()),
  async handle(call) {
    const { id } = await requireAgent(call, call.params.agent);
    const { q, limit } = call.query;
    const { store } = call.context.ports;
    const items: FoundEntry[] = [];
    let before = call.query.before;
    for (let read = 0; read < MOST_LINES; read += LINES) {
      const lines = await store.linesBack(id, { limit: LINES, before });
      for (const { position, line } of lines) {
        before = position;
        const item = foundIn(line, q.toLowerCase());
        if (item) items.push({ position, ...item });
        if (items.length === limit) return { json: { items, next: position } };
      }
      if (lines.length < LINES) return { json: { items, next: null } };
    }
    return { json: { items, next: before ?? null } };
  },
});

function foundIn(line: string, q: string): Omit<FoundEntry, "position"> | undefined {
  const read = readEntry(line);
  if (read.kind !== "entry" || read.entry.type === "session" || read.entry.timestamp === undefined) return undefined;
  const text = said(read.entry);
  const at = text.toLowerCase().indexOf(q);
  if (at < 0) return undefined;
  const { id, timestamp } = read.entry;
  const role = read.entry.type === "message" ? read.entry.role : read.entry.type;
  return { entryId: id, role, at: timestamp, text: text.slice(Math.max(0, at - AROUND), at + q.length + AROUND) };
}

export const conversationRoutes: readonly Route[] = [listRoute, searchRoute];
