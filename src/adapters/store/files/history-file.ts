/**
 * `history.jsonl`: the database's lines, verbatim. Before the first append the file's end is checked: a torn last line is
 * cut off and stored beside the file, and lines the database does not have are moved to another file, never merged (M6). The
 * older lines may be in `history.jsonl.bak`.
 */
import { dirname } from "node:path/posix";
import { type EntryId, positionOf } from "../../../core/ids.ts";
import { endOfLastLine, fileLines, lastLines } from "./file-lines.ts";
import {
  type Archived,
  archivedOf,
  archivePath,
  type HistoryEnd,
  mayCompact,
  NOT_ARCHIVED,
} from "./history-archive.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorNotice } from "./mirror-notice.ts";
import type { MirrorSource } from "./mirror-source.ts";

/** How many bytes of a file's end are compared with the database, after a clean stop and after any other. */
const CHECKED_BYTES = 4 << 10;
const CLOSELY_CHECKED_BYTES = 1 << 20;
const LINES_PER_READ = 500;

interface Settling {
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
  const archived = archivedOf(files, path);
  if (archived === "broken" || !agreesBefore(settling, path, no, archived)) return writeAgain(settling, path, no);
  const end = endOfLastLine(files, path, size);
  if (end < size) cutTorn(settling, path, end, size);
  if (end === archived.start) return { nextPos: archived.lines, size: end };
  const agreed = agreesAtEnd(settling, path, no, archived, end);
  return agreed === undefined ? setOrphansAside(settling, path, no, archived, end) : { nextPos: agreed + 1, size: end };
}

/** Appends what the file lacks and returns its new end. */
export function appendHistory(
  files: MirrorFiles,
  source: Pick<MirrorSource, "lines">,
  path: string,
  no: number,
  from: HistoryEnd,
): HistoryEnd {
  let { nextPos, size, isTried } = from;
  for (;;) {
    const rows = source.lines(no, nextPos, LINES_PER_READ);
    if (rows.length === 0) return { nextPos, size, isTried };
    const bytes = Buffer.from(rows.map((row) => `${row.line}\n`).join(""));
    files.append(path, bytes);
    nextPos += rows.length;
    size += bytes.length;
    if (rows.some((row) => mayCompact(row.line))) isTried = false;
    if (rows.length < LINES_PER_READ) return { nextPos, size, isTried };
  }
}

function cutTorn({ files, report }: Settling, path: string, end: number, size: number): void {
  files.append(`${path}.torn`, Buffer.concat([files.readAt(path, end, size - end), Buffer.from("\n")]));
  files.truncate(path, end);
  report({ kind: "torn-line", file: path, bytes: size - end });
}

/** The position of the last line if it and the lines before it equal the database's; undefined otherwise. */
function agreesAtEnd(
  { files, source, closely }: Settling,
  path: string,
  no: number,
  archived: Archived,
  end: number,
): number | undefined {
  const span = { start: archived.start, end };
  const { lines, whole } = lastLines(files, path, span, closely ? CLOSELY_CHECKED_BYTES : CHECKED_BYTES);
  const last = whole ? archived.lines + lines.length - 1 : positionIn(lines.at(-1) ?? "");
  if (last === undefined) return undefined;
  const first = last - lines.length + 1;
  const rows = first < 0 ? [] : source.lines(no, first, lines.length);
  return rows.length === lines.length && rows.every((row, index) => row.line === lines[index]) ? last : undefined;
}

/** Whether the counted lines of the `.bak` end with the database's. */
function agreesBefore(settling: Settling, path: string, no: number, { lines, bytes }: Archived): boolean {
  return lines === 0 || agreesAtEnd(settling, archivePath(path), no, NOT_ARCHIVED, bytes) === lines - 1;
}

/** The `.bak` cannot be used, so that the file gets the whole history again. The file before is kept. */
function writeAgain({ files, source, report, last }: Settling, path: string, no: number): HistoryEnd {
  const found = files.read(path) ?? Buffer.alloc(0);
  const aside = asideName(files, `${path}.orphaned-${last}`, found);
  files.replace(aside, found);
  const fresh = `${path}.new`;
  files.replace(fresh, "");
  const end = appendHistory(files, source, fresh, no, { nextPos: 0, size: 0 });
  files.sync(aside);
  files.sync(fresh);
  files.move(fresh, path);
  files.sync(dirname(path));
  report({ kind: "unusable-archive", file: path, archive: archivePath(path), aside });
  return end;
}

function positionIn(line: string): number | undefined {
  try {
    const id = (JSON.parse(line) as { id?: unknown } | null)?.id;
    return typeof id === "string" ? positionOf(id as EntryId) : undefined;
  } catch {
    return undefined;
  }
}

/** Compares from the first line. From the first line that differs from the database's, the rest goes into a separate file. */
function setOrphansAside(settling: Settling, path: string, no: number, archived: Archived, end: number): HistoryEnd {
  const { files, source, report, last } = settling;
  let position = archived.lines;
  let keep = end;
  let known: readonly { line: string }[] = [];
  for (const line of fileLines(files, path, archived.start)) {
    const index = (position - archived.lines) % LINES_PER_READ;
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
