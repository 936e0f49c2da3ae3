/** One run in all its parts: what the model saw with tokens, each step, tool calls, approvals and deliveries. */
import { z } from "zod";
import { deliveryId } from "../../../core/delivery/delivery.ts";
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { EntryId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { Store } from "../../../core/store/store.ts";
import { CHARS_PER_TOKEN, IMAGE_CHARS } from "../../../engine/context/compaction/estimate-tokens.ts";
import { readRunResult } from "../../../engine/runs/run-result.ts";
import { endPosition, firstPosition } from "../events/run-positions.ts";
import { withApprovalNames, withDeliveryNames, withRunNames } from "../reads/with-names.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { deliverySchema } from "../schemas/delivery.ts";
import { approvalSchema } from "../schemas/rights.ts";
import {
  type PromptPart,
  placedEntrySchema,
  promptPartSchema,
  runRecordSchema,
  runResultSchema,
} from "../schemas/run.ts";
import { requireRun, runParams } from "./params.ts";

/** More entries of one run are not shown. */
const MOST_ENTRIES = 500;
/** How far back the entries before the run are counted. */
const MOST_BEFORE = 2_000;
const PAGE = 200;
const MOST_DELIVERIES = 100;

const timelineRoute = defineRoute({
  name: "getRunTimeline",
  method: "GET",
  path: "/api/runs/:run/timeline",
  access: "read",
  action: "sessions_history",
  own: true,
  tag: "runs",
  summary: "One run: what the model saw by part with estimated tokens, its entries, approvals and deliveries",
  params: runParams,
  output: z.strictObject({
    state: z.enum(["active", "compacting", "ended", "queued", "streaming", "suspended", "unknown"]),
    run: runRecordSchema,
    result: runResultSchema.nullable(),
    context: z.array(promptPartSchema),
    entries: z.array(placedEntrySchema),
    before: z.string().nullable(),
    approvals: z.array(approvalSchema),
    deliveries: z.array(deliverySchema),
  }),
  async handle(call) {
    const { context } = call;
    const { store } = context.ports;
    const run = await requireRun(call, call.params.run);
    const entries = await entriesOf(store, run);
    const before = entries[0] ? parentOf(entries[0].entry) : null;
    const agent = await store.agent(run.agentId);
    const [named] = agent ? await withRunNames(store, agent, [run]) : [];
    const approvals = await store.approvals({ limit: 100, agentId: run.agentId });
    return {
      json: {
        state: await context.agents.runs.state(run.id),
        run: named ?? run,
        result: (await readRunResult(store, run.id)) ?? null,
        context: [...promptParts(run), ...(await historyParts(store, run, entries[0]?.position, before))],
        entries,
        before,
        approvals: await withApprovalNames(
          store,
          approvals.filter(({ runId }) => runId === run.id),
        ),
        deliveries: await withDeliveryNames(store, await deliveriesOf(store, run)),
      },
    };
  },
});

const parentOf = (entry: Entry): EntryId | null => (entry.type === "session" ? null : entry.parentId);

type Placed = { readonly position: number; readonly entry: Entry };

/** Oldest first. */
async function entriesOf(store: Pick<Store, "linesBack">, run: RunRecord): Promise<readonly Placed[]> {
  const first = await firstPosition(store, run);
  const found: Placed[] = [];
  let before = endPosition(run);
  while (found.length < MOST_ENTRIES) {
    const lines = await store.linesBack(run.agentId, { limit: PAGE, before });
    for (const { position, line } of lines) {
      before = position;
      const read = readEntry(line);
      const isOfRun = read.kind === "entry" && "runId" in read.entry && read.entry.runId === run.id;
      if (position >= first && isOfRun) found.push({ position, entry: read.entry });
    }
    if (lines.length < PAGE || (before ?? 0) < first) break;
  }
  return found.reverse();
}

const tokensOf = (characters: number): number => Math.ceil(characters / CHARS_PER_TOKEN);

function promptParts({ body }: RunRecord): readonly PromptPart[] {
  const parts = body.systemPromptReport?.parts ?? [];
  return parts.map(({ name, source, chars, cutFrom, untrusted }) => ({
    part: name,
    source,
    tokens: tokensOf(chars),
    cutFrom,
    untrusted,
  }));
}

/** The entries before the run that are on its way, up to the last compaction or the start of the session, by role. */
async function historyParts(
  store: Pick<Store, "linesBack">,
  run: RunRecord,
  first: number | undefined,
  leaf: EntryId | null,
): Promise<readonly PromptPart[]> {
  const sums = new Map<string, number>();
  let wanted = leaf;
  let before = first;
  let keptFrom: string | undefined;
  for (let read = 0; read < MOST_BEFORE && wanted !== null && before !== undefined; read += PAGE) {
    const lines = await store.linesBack(run.agentId, { limit: PAGE, before });
    for (const { position, line } of lines) {
      before = position;
      const { kind, ...rest } = readEntry(line);
      if (kind !== "entry" || !("entry" in rest) || rest.entry.id !== wanted) continue;
      const { entry } = rest;
      wanted = parentOf(entry);
      if (entry.type === "start" || entry.type === "reset") wanted = null;
      const name = nameOf(entry);
      if (name) sums.set(name, (sums.get(name) ?? 0) + charactersOf(entry));
      if (entry.id === keptFrom) wanted = null;
      // What a compaction has replaced was not shown, except the entries it kept.
      if (entry.type === "compaction") keptFrom ??= entry.firstKeptEntryId;
    }
    if (lines.length < PAGE) break;
  }
  return [...sums].map(([part, characters]) => ({ part, source: "history", tokens: tokensOf(characters) }));
}

function nameOf(entry: Entry): string | undefined {
  if (entry.type === "message") return { user: "people", assistant: "answers", tool: "tool results" }[entry.role];
  if (entry.type === "custom_message") return "notes";
  return entry.type === "compaction" || entry.type === "branch_summary" ? "summaries" : undefined;
}

function charactersOf(entry: Entry): number {
  if (entry.type === "compaction" || entry.type === "branch_summary") return entry.summary.length;
  if (entry.type !== "message" && entry.type !== "custom_message") return 0;
  return entry.content.reduce((sum, block) => {
    if (block.type === "image") return sum + IMAGE_CHARS;
    return sum + (block.type === "text" ? block.text.length : JSON.stringify(block).length);
  }, 0);
}

async function deliveriesOf(store: Pick<Store, "delivery">, { id, body }: RunRecord) {
  const numbers = Array.from({ length: Math.min(body.deliveries, MOST_DELIVERIES) }, (_, n) => n);
  const rows = await Promise.all(numbers.map((n) => store.delivery(deliveryId(id, n))));
  return rows.filter((row) => row !== undefined);
}

export const runTimelineRoutes: readonly Route[] = [timelineRoute];
