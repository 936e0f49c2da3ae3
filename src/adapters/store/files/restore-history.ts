/**
 * Restores a history line by line, each at its own position. A line that is not an entry keeps its position, is reported,
 * and readers skip it. A torn last line is cut off and stored beside the file.
 */
import { readEntry } from "../../../core/history/entry.ts";
import { insertEntry } from "../sqlite/entries.ts";
import { historyLines } from "./history-lines.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { RestoreContext } from "./restore-context.ts";

interface RestoredHistory {
  readonly lines: number;
  readonly lastId: string;
  /** Of the last marker. */
  readonly sessionId: string | undefined;
  /** Messages that are in the history. */
  readonly seqs: ReadonlySet<number>;
  readonly lastSeq: number;
}

export function restoreHistory({ db, files, report }: RestoreContext, path: string, no: number): RestoredHistory {
  let lines = 0;
  let lastId = "";
  let sessionId: string | undefined;
  let lastSeq = 0;
  const seqs = new Set<number>();
  for (const { text, offset, complete, file, number } of historyLines(files, path)) {
    const read = readEntry(text);
    if (!complete) {
      const torn = read.kind === "broken";
      repairEnd(files, path, offset, torn ? text : undefined);
      const reason = torn ? `torn, kept in ${path}.torn` : "its line end was missing";
      report({ file, line: number, reason, consequence: "line-repaired" });
      if (torn) break;
    } else if (read.kind === "broken") {
      report({ file, line: number, reason: read.reason, consequence: "line-skipped", code: "corrupt_data" });
    }
    insertEntry(db, no, lines, text);
    lines += 1;
    if (read.kind === "unknown") lastId = read.id ?? lastId;
    if (read.kind !== "entry") continue;
    const { entry } = read;
    if (entry.type !== "session") lastId = entry.id;
    if (entry.type === "start" || entry.type === "reset") sessionId = entry.sessionId;
    for (const seq of "seqs" in entry && Array.isArray(entry.seqs) ? (entry.seqs as number[]) : []) {
      seqs.add(seq);
      lastSeq = Math.max(lastSeq, seq);
    }
  }
  return { lines, lastId, sessionId, seqs, lastSeq };
}

function repairEnd(files: MirrorFiles, path: string, offset: number, torn: string | undefined): void {
  if (torn === undefined) {
    files.append(path, "\n");
    return;
  }
  files.append(`${path}.torn`, `${torn}\n`);
  files.truncate(path, offset);
}
