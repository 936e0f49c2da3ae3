/**
 * The plan of a compaction, made before a model is called: what it covers, what it keeps, what it builds upon. It starts where
 * the previous one started to keep, so every entry that one kept is summarised or kept again, never lost (L10).
 */
import type { Entry } from "../../../core/history/entry.ts";
import type { AgentId, EntryId } from "../../../core/ids.ts";
import { modelMessage } from "../context.ts";
import { type Cut, chooseCut, isTurnStart, type Sized } from "./choose-cut.ts";
import { type CompactionDetails, type CompactionEntry, compactionDetails, type Measure } from "./compaction-details.ts";
import { estimateMessages } from "./estimate-tokens.ts";
import { applyMeasure, cutText, measuresFor } from "./measures.ts";

export interface CompactionPlan {
  /** The marker this session began with, and the compaction before; both must still be the last when this one is appended. */
  readonly base: CompactionBase;
  readonly previous?: { readonly summary: string; readonly details: CompactionDetails };
  /** To be summarised: whole turns, and the beginning of the turn that is cut in two. */
  readonly history: readonly Entry[];
  readonly prefix: readonly Entry[];
  readonly firstKeptEntryId: EntryId;
  readonly covered: { readonly from: EntryId; readonly through: EntryId; readonly messages: number };
  /** Measures of the compaction before that still reach into what is kept. */
  readonly measures: readonly Measure[];
  readonly request?: { readonly texts: readonly string[]; readonly runId?: string };
}

interface CompactionBase {
  readonly marker: EntryId | undefined;
  readonly compaction: EntryId | undefined;
}

type Planned = { readonly plan: CompactionPlan } | { readonly refused: string };

const NOTHING_TO_COMPACT = "Nothing to compact.";
const ALREADY_COMPACTED = "Already compacted.";
/** How much of the request of a cut turn is carried along word for word. */
const REQUEST_CHARS = 4_000;
const MIN_REQUEST_CHARS = 80;
const MAX_REQUESTS = 40;

/** The entries that make up the context now, beginning with the first that is kept; and the compaction they follow. */
export function currentEntries(path: readonly Entry[]): {
  readonly entries: readonly Entry[];
  readonly previous: CompactionEntry | undefined;
} {
  const last = path.findLastIndex((entry) => entry.type === "compaction");
  const previous = path[last];
  if (previous?.type !== "compaction") return { entries: path, previous: undefined };
  const first = path.findIndex((entry) => entry.type !== "session" && entry.id === previous.firstKeptEntryId);
  const entries = path.slice(first === -1 ? last + 1 : first).filter((entry) => entry.type !== "compaction");
  return { entries, previous };
}

export function baseOf(path: readonly Entry[]): CompactionBase {
  const marker = path.findLast((entry) => entry.type === "start" || entry.type === "reset");
  return { marker: marker?.id, compaction: path.findLast((entry) => entry.type === "compaction")?.id };
}

/** Each entry with what it adds to the current context. */
export function sizedEntries(agentId: AgentId, path: readonly Entry[]): readonly Sized[] {
  const { entries, previous } = currentEntries(path);
  const measures = previous ? (compactionDetails(previous).measures ?? []) : [];
  const lease = measuresFor(entries, measures);
  return entries.map((entry, index) => {
    const messages = modelMessage(agentId, entry).map((message) => lease(index).reduce(applyMeasure, message));
    return { entry, tokens: estimateMessages(messages) };
  });
}

export function planCompaction(agentId: AgentId, path: readonly Entry[], keepTokens: number): Planned {
  if (path.at(-1)?.type === "compaction") return { refused: ALREADY_COMPACTED };
  const sized = sizedEntries(agentId, path);
  const cut = chooseCut(sized, Math.max(1, keepTokens));
  if (!cut) return { refused: NOTHING_TO_COMPACT };
  return { plan: planOf(path, sized, cut, keepTokens) };
}

export function planOf(path: readonly Entry[], sized: readonly Sized[], cut: Cut, keepTokens: number): CompactionPlan {
  const { previous } = currentEntries(path);
  const details = previous ? compactionDetails(previous) : undefined;
  const entries = sized.map(({ entry }) => entry);
  const before = entries.slice(0, cut.index);
  const kept = entries.slice(cut.index);
  const turnStart = cut.turnStart ?? cut.index;
  const keptIds = new Set(kept.map(idOf));
  // At most half of what is kept, in characters: it must not fill a small window.
  const requestChars = Math.max(MIN_REQUEST_CHARS, Math.min(REQUEST_CHARS, 2 * keepTokens));
  const request = requestOf(before, kept, details, requestChars);
  return {
    base: baseOf(path),
    previous: previous && { summary: previous.summary, details: details ?? {} },
    history: before.slice(0, turnStart),
    prefix: before.slice(turnStart),
    firstKeptEntryId: idOf(kept[0] as Entry),
    covered: {
      from: idOf(before[0] as Entry),
      through: idOf(before.at(-1) as Entry),
      messages: sized.slice(0, cut.index).filter(({ tokens }) => tokens > 0).length,
    },
    measures: (details?.measures ?? []).filter(({ through }) => keptIds.has(through)),
    request,
  };
}

const idOf = (entry: Entry): EntryId => entry.id as EntryId;

/**
 * The request of the turn in progress, if it lies before the cut. It is carried along word for word, beside the summary.
 */
function requestOf(
  before: readonly Entry[],
  kept: readonly Entry[],
  details: CompactionDetails | undefined,
  chars: number,
) {
  const first = kept.find((entry) => entry.type !== "custom");
  const runId = first?.type === "message" ? first.runId : undefined;
  if (!first || (runId === undefined && isTurnStart(first))) return undefined;
  const lastStart = before.findLast(isTurnStart);
  const asked = before.filter((entry) =>
    runId === undefined ? entry === lastStart : isTurnStart(entry) && entry.type === "message" && entry.runId === runId,
  );
  const carried = details?.request !== undefined && details.requestRunId === runId ? details.request : [];
  const said = [...carried, ...asked.map(textOf)].filter((text) => text.trim() !== "").slice(-MAX_REQUESTS);
  if (said.length === 0) return undefined;
  // A later request counts as much as the first: each is cut on its own.
  const each = Math.max(MIN_REQUEST_CHARS, Math.floor(chars / said.length));
  return { texts: said.map((text) => cutText(text, each)), runId };
}

function textOf(entry: Entry): string {
  if (entry.type !== "message" && entry.type !== "custom_message") return "";
  return entry.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
