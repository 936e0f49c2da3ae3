/**
 * Where a history is cut in two: the part before is summarised, the part after is kept word for word. Never between a tool
 * call and its result; within a turn only if that turn alone is longer than what may be kept, which the cut then records.
 */
import type { Entry } from "../../../core/history/entry.ts";

export interface Sized {
  readonly entry: Entry;
  /** What it adds to the context. */
  readonly tokens: number;
}

export interface Cut {
  /** The first entry that is kept. Never 0: something lies before it. */
  readonly index: number;
  /** The start of the turn that is cut in two; absent if the cut falls between turns. */
  readonly turnStart?: number;
}

export const isTurnStart = (entry: Entry): boolean =>
  (entry.type === "message" && entry.role === "user") ||
  entry.type === "custom_message" ||
  entry.type === "branch_summary";

/**
 * Keeps about this much of the end at most: whole turns if one fits, otherwise the end of the last one, and always the last
 * message. Undefined if nothing would lie before the cut.
 */
export function chooseCut(entries: readonly Sized[], keepTokens: number): Cut | undefined {
  const isPlace = places(entries.map(({ entry }) => entry));
  const from = firstThatFits(entries, keepTokens);
  if (from === 0) return undefined;
  const turn = entries.findIndex(({ entry }, at) => at >= from && isPlace[at] && isTurnStart(entry));
  const after = turn === -1 ? isPlace.findIndex((is, at) => is && at >= from) : turn;
  const place = after === -1 ? isPlace.lastIndexOf(true) : after;
  const index = beforeQuietOnes(entries, place);
  const first = entries[place]?.entry;
  if (!first || !entries.slice(0, index).some(({ tokens }) => tokens > 0)) return undefined;
  if (isTurnStart(first)) return { index };
  const turnStart = entries.findLastIndex(({ entry }, at) => at < index && isTurnStart(entry));
  return turnStart === -1 ? { index } : { index, turnStart };
}

/** The first entry from which on everything fits; the last entry with content if not even that fits. */
function firstThatFits(entries: readonly Sized[], keepTokens: number): number {
  const last = entries.findLastIndex(({ tokens }) => tokens > 0);
  let sum = 0;
  for (let at = entries.length - 1; at >= 0; at--) {
    sum += entries[at]?.tokens ?? 0;
    if (sum > keepTokens) return Math.min(at + 1, last);
  }
  return 0;
}

/** Whether a context may begin here: at a message, and not between a call and its result. */
function places(entries: readonly Entry[]): readonly boolean[] {
  const inside = new Array<boolean>(entries.length).fill(false);
  const asked = new Map<string, number>();
  entries.forEach((entry, index) => {
    if (entry.type !== "message") return;
    if (entry.role === "assistant") {
      for (const block of entry.content) if (block.type === "toolCall") asked.set(block.id, index);
    }
    const call = entry.role === "tool" ? asked.get(entry.toolCallId ?? "") : undefined;
    if (call !== undefined) inside.fill(true, call + 1, index + 1);
  });
  return entries.map((entry, index) => !inside[index] && canBegin(entry));
}

const canBegin = (entry: Entry): boolean =>
  isTurnStart(entry) || (entry.type === "message" && entry.role === "assistant");

/** Entries that are not sent to the model stay with the entry after them. */
function beforeQuietOnes(entries: readonly Sized[], index: number): number {
  let at = index;
  while (at > 0 && entries[at - 1]?.entry.type === "custom") at -= 1;
  return at;
}
