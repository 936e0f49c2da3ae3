/** The whole history of an agent, for everyone who reads the plain files: the lines of the `.bak`, then those of the file. */
import { CorruptDataError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { type FileLine, fileLines } from "./file-lines.ts";
import { archivedOf, archivePath } from "./history-archive.ts";
import type { MirrorFiles } from "./mirror-files.ts";

interface HistoryLine extends FileLine {
  /** The file the line is in, and its number there. */
  readonly file: string;
  readonly number: number;
}

/** Throws `CorruptDataError` before the first line of the file if the `.bak` lacks lines that the file counts. */
export function* historyLines(files: MirrorFiles, path: string): Generator<HistoryLine> {
  const archived = archivedOf(files, path);
  const there = archivePath(path);
  if (archived === "broken") throw incomplete(path);
  let number = 0;
  for (const line of fileLines(files, there, 0, archived.bytes)) yield { ...line, file: there, number: ++number };
  if (number !== archived.lines) throw incomplete(path);
  number = archived.headLines;
  for (const line of fileLines(files, path, archived.start)) yield { ...line, file: path, number: ++number };
}

/** Throws `CorruptDataError` if the older lines of a history are not where its file says, or if its head is lost. */
export function checkHistory(files: MirrorFiles, path: string): void {
  if ((files.size(path) ?? 0) === 0) throw new CorruptDataError(`${path} is missing or empty.`);
  const there = archivePath(path);
  if (files.size(there) === undefined && archivedOf(files, path) !== "broken") return;
  let isFirst = true;
  for (const { text, file } of historyLines(files, path)) {
    if (isFirst && file === path && readEntry(text).kind === "broken") {
      throw new CorruptDataError(`${path} does not begin with a session, and does not say what it needs of ${there}.`, {
        hint: "The first line is damaged. Restore both files from a copy; they were left unchanged.",
      });
    }
    isFirst = false;
    if (file === path) return;
  }
}

const incomplete = (path: string): CorruptDataError =>
  new CorruptDataError(`${path} continues ${archivePath(path)}, which is missing or lacks lines.`, {
    hint: "Put the file back; both were left unchanged.",
  });
