/** The entries of one session with all its branches: for going back to one of them, and for the session's file. */
import { type Entry, readEntry } from "../../core/history/entry.ts";
import type { AgentId, EntryId, SessionId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

const FIRST_PAGE = 64;
const MAX_PAGE = 1_024;

interface SessionHistory {
  /** As in history, the session's marker first. Empty if there is no such session. */
  readonly lines: readonly string[];
  /** Those of them that could be read. */
  readonly entries: readonly Entry[];
  /** The tip the session had when the next one began; undefined for the current one. */
  readonly lastLeaf?: EntryId;
}

/** Reads backwards from the newest line to the session's marker: earlier lines cost nothing. */
export async function readSession(
  store: Pick<StoreReader, "linesBack">,
  agentId: AgentId,
  sessionId: SessionId,
): Promise<SessionHistory> {
  let lines: string[] = [];
  let entries: Entry[] = [];
  let lastLeaf: EntryId | undefined;
  let before: number | undefined;
  for (let limit = FIRST_PAGE; ; limit = Math.min(limit * 2, MAX_PAGE)) {
    const page = await store.linesBack(agentId, { before, limit });
    for (const { position, line } of page) {
      before = position;
      const read = readEntry(line);
      lines.push(line);
      if (read.kind !== "entry") continue;
      const { entry } = read;
      entries.push(entry);
      if (entry.type !== "start" && entry.type !== "reset") continue;
      if (entry.sessionId === sessionId) return { lines: lines.reverse(), entries: entries.reverse(), lastLeaf };
      // A later session: the requested one lies before it, and ended at the parent of this marker.
      lines = [];
      entries = [];
      lastLeaf = entry.parentId ?? undefined;
    }
    if (page.length < limit) return { lines: [], entries: [] };
  }
}
