/**
 * `history.jsonl`: the database's lines, verbatim. Before the first append the file's end is checked: a torn last line is
 * cut off and stored beside the file, and lines the database does not have are moved to another file, never merged (M6).
 */
import { type EntryId, positionOf } from "../../../core/ids.ts";
import { endOfLastLine, fileLines, lastLines } from "./file-lines.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import type { MirrorSource } from "./mirror-source.ts";

/** How many bytes of a file's end are compared with the database, after a clean stop and after any other. */
const CHECKED_BYTES = 4 << 10;
const CLOSELY_CHECKED_BYTES = 1 << 20;
const LINES_PER_READ = 500;

export interface HistoryEnd {
  /** The position the next line gets. */
  readonly nextPos: number;
  readonly size: number;
}

export interface Settling {
  readonly files: MirrorFiles;
  readonly source: Pick<MirrorSource, "lines">;
  readonly report: (notice: MirrorNotice) => void;
  /** The number of the database's last change, for the names of files with orphaned lines. */
  readonly last: number;
  /** Compare more than the last lines, because the file may have been written during a power loss. */
  readonly closely: boolean;
}

/** Makes the file end with a line the database has at that position. Safe to run again after a crash at any call. */
export function settleHistory(settling: Settling, path: string, no: number): HistoryEnd {
  const { files } = settling;
  const size = files.size(path) ?? 0;
  const end = endOfLastLine(files, path, size);
  if (end < size) cutTorn(settling, path, end, size);
  if (end === 0) return { nextPos: 0, size: 0 };
  const agreed = agreesAtEnd(settling, path, no, end);
  return agreed === undefined ? setOrphansAside(settling, path, no, end) : { nextPos: agreed + 1, size: end };
}

/** Appends what the file lacks and returns its new end. */
export function appendHistory(
  files: MirrorFiles,
  source: Pick<MirrorSource, "lines">,
  path: string,
  no: number,
  from: HistoryEnd,
): HistoryEnd {
  let { nextPos, size } = from;
  for (;;) {
    const rows = source.lines(no, nextPos, LINES_PER_READ);
    if (rows.length === 0) return { nextPos, size };
    const bytes = Buffer.from(rows.map((row) => `${row.line}\n`).join(""));
    files.append(path, bytes);
    nextPos += rows.length;
    size += bytes.length;
    if (rows.length < LINES_PER_READ) return { nextPos, size };
  }
}

function cutTorn({ files, report }: Settling, path: string, end: number, size: number): void {
  files.append(`${path}.torn`, Buffer.concat([files.readAt(path, end, size - end), Buffer.from("\n")]));
  files.truncate(path, end);
  report({ kind: "torn-line", file: path, bytes: size - end });
}

/** The position of the last line if it and the lines before it equal the database's; undefined otherwise. */
function agreesAtEnd({ files, source, closely }: Settling, path: string, no: number, end: number): number | undefined {
  const { lines, whole } = lastLines(files, path, end, closely ? CLOSELY_CHECKED_BYTES : CHECKED_BYTES);
  const last = whole ? lines.length - 1 : positionIn(lines.at(-1) ?? "");
  if (last === undefined) return undefined;
  const first = last - lines.length + 1;
  const rows = first < 0 ? [] : source.lines(no, first, lines.length);
  return rows.length === lines.length && rows.every((row, index) => row.line === lines[index]) ? last : undefined;
}

function positionIn(line: string): number | undefined {
  try {
    const id = (JSON.parse(line) as { id?: unknown } | null)?.id;
    return typeof id === "string" ? positionOf(id as EntryId) : undefined;
  } catch {
    return undefined;
  }
}

/** Compares from the beginning. From the first line that differs from the database's, the rest goes into a separate file. */
function setOrphansAside(settling: Settling, path: string, no: number, end: number): HistoryEnd {
  const { files, source, report, last } = settling;
  let position = 0;
  let keep = end;
  let known: readonly { line: string }[] = [];
  for (const line of fileLines(files, path)) {
    const index = position % LINES_PER_READ;
    if (index === 0) known = source.lines(no, position, LINES_PER_READ);
    if (known[index]?.line !== line.text) {
      keep = line.offset;
      break;
    }
    position += 1;
  }
  if (keep === end) return { nextPos: position, size: end };
  const orphaned = files.readAt(path, keep, end - keep);
  const aside = asideName(files, `${path}.orphaned-${last}`, orphaned);
  files.replace(aside, orphaned);
  files.truncate(path, keep);
  report({ kind: "orphaned-lines", file: path, aside, line: position + 1, bytes: orphaned.length });
  return { nextPos: position, size: keep };
}

/** A free name, or one that has the same bytes already (after a crash between the two steps above). */
function asideName(files: MirrorFiles, base: string, bytes: Buffer): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}-${count}`;
    const there = files.read(name);
    if (there === undefined || there.equals(bytes)) return name;
  }
}
