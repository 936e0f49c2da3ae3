/**
 * `history.jsonl.bak`: the older lines of a long history. At rest, the lines before the newest compaction's kept entries move there,
 * and `history.jsonl` begins with a head of three lines: where it continues, the session header, and the compaction entry. The
 * lines of `history.jsonl.bak` that the head counts and the lines after the head are together the whole history.
 */
import { dirname } from "node:path/posix";
import { type EntryId, positionOf } from "../../../core/ids.ts";
import { fileLines } from "./file-lines.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import type { MirrorNotice } from "./mirror-notice.ts";

/** Above this size a history is archived. */
export const ARCHIVE_ABOVE_BYTES = 16 << 20;
const PORTION = 1 << 20;
const MARK = '{"type":"archived",';
const HEAD_LINES = 3;

/** Whether a line may be a compaction entry. */
export const mayCompact = (line: string): boolean => line.includes('"type":"compaction"');

export interface HistoryEnd {
  /** The position the next line gets. */
  readonly nextPos: number;
  readonly size: number;
  /** There was no compaction since it was archived, or since an attempt to. */
  readonly isTried?: boolean;
}

export interface Archived {
  /** How many lines, and how many bytes, of the `.bak` come before this file's lines. */
  readonly lines: number;
  readonly bytes: number;
  /** Where this file's own lines begin. */
  readonly start: number;
  readonly headLines: number;
}

export const NOT_ARCHIVED: Archived = { lines: 0, bytes: 0, start: 0, headLines: 0 };

export const archivePath = (path: string): string => `${path}.bak`;

/** How a history begins. `broken`: the head cannot be used, or the `.bak` lacks lines that it counts. */
export function archivedOf(files: MirrorFiles, path: string): Archived | "broken" {
  const size = files.size(path) ?? 0;
  if (size === 0 || files.readAt(path, 0, MARK.length).toString() !== MARK) return NOT_ARCHIVED;
  const head: string[] = [];
  let start = 0;
  for (const { text, offset, complete } of fileLines(files, path)) {
    start = offset;
    if (!complete || head.length === HEAD_LINES) break;
    head.push(text);
    start = offset + Buffer.byteLength(text) + 1;
  }
  const { lines, bytes } = headOf(head[0] ?? "");
  if (head.length < HEAD_LINES || lines === undefined || bytes === undefined) return "broken";
  const there = archivePath(path);
  const whole = (files.size(there) ?? 0) >= bytes && files.readAt(there, bytes - 1, 1).toString() === "\n";
  return whole ? { lines, bytes, start, headLines: HEAD_LINES } : "broken";
}

function headOf(line: string): { readonly lines?: number; readonly bytes?: number } {
  try {
    const { lines, bytes } = JSON.parse(line) as { lines?: unknown; bytes?: unknown };
    return { lines: positive(lines), bytes: positive(bytes) };
  } catch {
    return {};
  }
}

const positive = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;

interface Archiving {
  readonly files: MirrorFiles;
  readonly report: (notice: MirrorNotice) => void;
  /** The number of the database's last change, for the names of files that are set aside. */
  readonly last: number;
  readonly above: number;
}

/**
 * Moves the lines before the newest compaction's kept entries into the `.bak`, if the file is larger than `above`. They are in the
 * `.bak` and on the disk before the file is replaced, so that a crash at any call leaves the whole history.
 */
export function archiveHistory(archiving: Archiving, path: string, end: HistoryEnd): HistoryEnd {
  const { files, above } = archiving;
  const { size } = end;
  if (size <= above || end.isTried) return end;
  const before = archivedOf(files, path);
  const cut = before === "broken" ? undefined : cutOf(files, path, before);
  if (before === "broken" || cut === undefined) return { ...end, isTried: true };
  const dir = dirname(path);
  const there = archivePath(path);
  dropUnfinished(archiving, path, before);
  copyBytes(files, { path, from: before.start, to: cut.offset }, there);
  files.sync(there);
  files.sync(dir);
  const bytes = before.bytes + cut.offset - before.start;
  const archived = { type: "archived", file: "history.jsonl.bak", lines: cut.position, bytes };
  const head = Buffer.from(`${JSON.stringify(archived)}\n${firstLine(files, there)}\n${cut.compaction}\n`);
  const fresh = `${path}.new`;
  files.replace(fresh, head);
  copyBytes(files, { path, from: cut.offset, to: size }, fresh);
  files.sync(fresh);
  files.move(fresh, path);
  files.sync(dir);
  return { nextPos: end.nextPos, size: head.length + size - cut.offset, isTried: true };
}

interface Cut {
  /** The position of the first line that stays. */
  readonly position: number;
  readonly offset: number;
  readonly compaction: string;
}

/** Undefined if there is no compaction, or if no line would leave. */
function cutOf(files: MirrorFiles, path: string, { lines, start }: Archived): Cut | undefined {
  const offsets: number[] = [];
  let found: Cut | undefined;
  for (const { text, offset } of fileLines(files, path, start)) {
    offsets.push(offset);
    const kept = mayCompact(text) ? firstKept(text) : undefined;
    const position = kept === undefined ? undefined : positionOf(kept as EntryId);
    const at = position === undefined ? undefined : offsets[position - lines];
    if (position === undefined || at === undefined) continue;
    found = position > lines && idAt(files, path, at) === kept ? { position, offset: at, compaction: text } : undefined;
  }
  return found;
}

function firstKept(line: string): string | undefined {
  try {
    const { type, firstKeptEntryId } = JSON.parse(line) as { type?: unknown; firstKeptEntryId?: unknown };
    return type === "compaction" && typeof firstKeptEntryId === "string" ? firstKeptEntryId : undefined;
  } catch {
    return undefined;
  }
}

function idAt(files: MirrorFiles, path: string, offset: number): unknown {
  const [line] = fileLines(files, path, offset);
  try {
    return (JSON.parse(line?.text ?? "") as { id?: unknown }).id;
  } catch {
    return undefined;
  }
}

function firstLine(files: MirrorFiles, path: string): string {
  const [line] = fileLines(files, path);
  return line?.text ?? "";
}

/** After a crash the `.bak` may have copies of lines after the counted ones: they are cut off. Other bytes are moved to another file. */
function dropUnfinished({ files, report, last }: Archiving, path: string, { bytes, start }: Archived): void {
  const there = archivePath(path);
  const size = files.size(there) ?? 0;
  if (size <= bytes) return;
  if (!sameBytes(files, { path: there, from: bytes, to: size }, { path, from: start })) {
    let aside = `${there}.orphaned-${last}`;
    for (let count = 2; files.size(aside) !== undefined; count++) aside = `${there}.orphaned-${last}-${count}`;
    copyBytes(files, { path: there, from: bytes, to: size }, aside);
    files.sync(aside);
    report({ kind: "orphaned-archive", file: there, aside, bytes: size - bytes });
  }
  files.truncate(there, bytes);
}

interface Bytes {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

function copyBytes(files: MirrorFiles, { path, from, to }: Bytes, target: string): void {
  for (let at = from; at < to; at += PORTION) files.append(target, files.readAt(path, at, Math.min(PORTION, to - at)));
}

function sameBytes(files: MirrorFiles, { path, from, to }: Bytes, other: Pick<Bytes, "path" | "from">): boolean {
  for (let at = from; at < to; at += PORTION) {
    const portion = files.readAt(path, at, Math.min(PORTION, to - at));
    if (!portion.equals(files.readAt(other.path, other.from + at - from, portion.length))) return false;
  }
  return true;
}
