/**
 * Counts the least that one turn over HTTP does: statements, rows, pages and commits of the store, and calls of `node:fs` on the main
 * thread. A test fails if a count rises above `turn-counts.json`; lower the file when a count falls.
 */
import { join } from "node:path";
import { type TurnCounts, WORKLOADS } from "../compare/workloads.ts";
import limits from "./turn-counts.json" with { type: "json" };

const ROOT = join(import.meta.dirname, "../..");
/** Half a call above what was measured: a flush that two commits share changes a fraction, one more call in every turn adds 1. */
export const TURN_LIMITS: Readonly<Record<(typeof COUNTED)[number], number>> = limits;
export const COUNTED = ["statements", "rows", "pages", "commits", "fileCalls"] as const;

/** One sentence for each count above its limit. */
export const countsAbove = (counts: TurnCounts): readonly string[] =>
  COUNTED.filter((name) => counts[name] > TURN_LIMITS[name]).map(
    (name) =>
      `${name} per turn: ${counts[name]}, at most ${TURN_LIMITS[name]} are allowed (bench/front/turn-counts.json).`,
  );

/** Counts until no count is above its limit, for a few seconds at most. */
export async function countTurns(): Promise<TurnCounts> {
  const isEnough = (counts: TurnCounts): boolean => countsAbove(counts).length === 0;
  const measured = await WORKLOADS.front?.measure(ROOT, { turns: 20, count: true, isEnough });
  if (!measured?.counts) throw new Error("The workload returned no counts.");
  return measured.counts;
}
