/**
 * Cuts a long session file: the header, the last compaction and everything it kept stay, with what came after it; the rest is
 * only in the copy that is kept beside it. Agents' histories are never cut; this is for session files.
 */
import type { EntryId } from "../../../core/ids.ts";
import { readTranscript, type TranscriptEntry } from "./read-transcript.ts";
import { pathTo } from "./tree.ts";

type Archived =
  | {
      /** The new content of the file. It contains the parent of each of its entries. */
      readonly text: string;
      /** How many lines are left only in the copy. */
      readonly left: number;
    }
  /** Nothing can be left out: the file does not change. */
  | { readonly refused: string };

export function archiveTranscript(text: string): Archived {
  const { header, entries, leaf } = readTranscript(text);
  if (!header) return { refused: "This is not a session file: it does not begin with a session header." };
  const path = pathTo(entries, leaf);
  const compaction = path.findLast(({ entry }) => entry?.type === "compaction")?.entry;
  const first = compaction?.type === "compaction" ? compaction.firstKeptEntryId : undefined;
  const from = path.findIndex(({ id }) => id === first);
  if (from === -1) return { refused: "Nothing was compacted in this session yet." };
  if (from === 0) return { refused: "Everything in this session is kept by its last compaction." };
  const kept = keptWith(entries, path.slice(from));
  const head = text.slice(0, text.indexOf("\n"));
  const lines = entries.flatMap(({ id, raw }) => {
    if (!kept.has(id)) return [];
    return [JSON.stringify(id === first ? { ...raw, parentId: null } : raw)];
  });
  return { text: `${[head, ...lines].join("\n")}\n`, left: entries.length - lines.length };
}

/** The kept part of the path, and every branch that hangs on it. */
function keptWith(entries: readonly TranscriptEntry[], path: readonly TranscriptEntry[]): ReadonlySet<EntryId> {
  const kept = new Set(path.map(({ id }) => id));
  // A parent comes before its children.
  for (const { id, parentId } of entries) if (parentId !== null && kept.has(parentId)) kept.add(id);
  return kept;
}

/** `<sessionId>.jsonl.bak`, then `.bak.2` and so on: a copy is never overwritten. */
export const backupName = (file: string, n: number): string => (n === 1 ? `${file}.bak` : `${file}.bak.${n}`);
