/**
 * Walks from a leaf towards the beginning of its history, along the parents. Reads in pages that grow, so that a reader who
 * stops early pays for little.
 */
import { type Entry, type ReadEntry, readEntry } from "../../core/history/entry.ts";
import { type AgentId, type EntryId, positionOf } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** A line that was kept and skipped, with the reason. */
export interface SkippedLine {
  readonly position: number;
  readonly reason: string;
}

const FIRST_PAGE = 64;
const MAX_PAGE = 1_024;

/** The entries of the path, newest first. `skipped` gets the lines that could not be read. */
export async function* walkBack(
  store: Pick<StoreReader, "linesBack">,
  agentId: AgentId,
  leaf: EntryId,
  skipped: SkippedLine[] = [],
): AsyncGenerator<Exclude<Entry, { type: "session" }>, void, undefined> {
  let wanted: EntryId | null | undefined = leaf;
  let before: number | undefined;
  let limit = FIRST_PAGE;
  while (wanted) {
    const lines = await store.linesBack(agentId, { before, limit });
    limit = Math.min(limit * 2, MAX_PAGE);
    if (lines.length === 0) return;
    for (const { position, line } of lines) {
      before = position;
      // An id contains its position, so a missing entry is not searched for in the whole history.
      const place: number | undefined = wanted ? positionOf(wanted) : undefined;
      if (place !== undefined && position < place) {
        if (!skipped.some((one) => one.position === place)) skipped.push({ position: place, reason: "missing" });
        return;
      }
      const read: ReadEntry = readEntry(line);
      if (read.kind === "broken") {
        skipped.push({ position, reason: read.reason });
        continue;
      }
      if (read.kind === "unknown") {
        if (read.id !== wanted) continue;
        skipped.push({ position, reason: `unknown type ${read.type}` });
        wanted = read.parentId;
        continue;
      }
      const { entry } = read;
      if (entry.type === "session" || entry.id !== wanted) continue;
      yield entry;
      wanted = entry.parentId;
    }
  }
}
