/**
 * Reads a session file of any version, from any program. Nothing is dropped silently: unknown types keep their place in the
 * chain, and every line that cannot be used is reported with its number and the reason.
 */
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { EntryId } from "../../../core/ids.ts";
import { flatRecord, isRecord, type Raw } from "./older-shape.ts";
import { type Reported, treeProblems } from "./tree.ts";

export type SessionHeader = Extract<Entry, { type: "session" }>;

/** A line with its place in the tree. `entry` is absent if only its place could be read. */
export interface TranscriptEntry {
  readonly line: number;
  readonly id: EntryId;
  readonly parentId: EntryId | null;
  readonly entry?: Exclude<Entry, SessionHeader>;
  /** The record as it was written. */
  readonly raw: Raw;
}

export interface Transcript {
  /** Absent: the file does not begin with a session header. It counts as empty and must not be overwritten. */
  readonly header?: SessionHeader;
  readonly version: number;
  readonly entries: readonly TranscriptEntry[];
  /** The tip: the last line. */
  readonly leaf: EntryId | null;
  readonly skipped: readonly Reported[];
  /** Entries that are kept although something about their place is wrong. */
  readonly problems: readonly Reported[];
}

export function readTranscript(text: string): Transcript {
  const skipped: Reported[] = [];
  const records = readRecords(text, skipped);
  const header = headerOf(records[0]?.raw);
  if (!header) {
    const reason = "the file does not begin with a session header";
    const all = [...skipped, ...records.map(({ line }) => ({ line, reason }))].sort((a, b) => a.line - b.line);
    return { version: 0, entries: [], leaf: null, skipped: all, problems: [] };
  }
  const numbered = header.version < 2 ? withIds(records) : records.slice(1);
  const entries = placed(numbered, Date.parse(header.timestamp) || 0, skipped);
  skipped.sort((a, b) => a.line - b.line);
  const leaf = entries.at(-1)?.id ?? null;
  return { header, version: header.version, entries, leaf, skipped, problems: treeProblems(entries) };
}

interface NumberedRecord {
  readonly line: number;
  readonly raw: Raw;
}

function readRecords(text: string, skipped: Reported[]): readonly NumberedRecord[] {
  const lines = text.split("\n");
  const isWhole = lines.at(-1) === "";
  if (isWhole) lines.pop();
  return lines.flatMap((content, index) => {
    const line = index + 1;
    const isTorn = !isWhole && line === lines.length;
    const record = parsed(content, isTorn);
    if (typeof record !== "string") return [{ line, raw: record }];
    skipped.push({ line, reason: record });
    return [];
  });
}

/** The record of a line, or the reason why there is none. */
function parsed(line: string, isTorn: boolean): Raw | string {
  if (line.trim() === "") return "a blank line";
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : "not an object";
  } catch (error) {
    return isTorn ? "cut off before its end" : `not JSON: ${(error as Error).message}`;
  }
}

function headerOf(raw: Raw | undefined): SessionHeader | undefined {
  if (raw?.type !== "session" || typeof raw.id !== "string") return undefined;
  const { descriptor, ...rest } = raw;
  const header = {
    ...rest,
    version: typeof raw.version === "number" ? raw.version : 1,
    timestamp: typeof raw.timestamp === "string" ? raw.timestamp : new Date(0).toISOString(),
  };
  // A descriptor that cannot be read is left out.
  for (const proposal of [{ ...header, descriptor }, header]) {
    const read = readEntry(JSON.stringify(proposal));
    if (read.kind === "entry" && read.entry.type === "session") return read.entry;
  }
  return undefined;
}

/** Version 1 has no ids: its lines are a chain, and a compaction names its first kept entry by index, the header being 0. */
function withIds(records: readonly NumberedRecord[]): readonly NumberedRecord[] {
  const idOf = ({ raw, line }: NumberedRecord): string =>
    typeof raw.id === "string" ? raw.id : line.toString(16).padStart(8, "0");
  let parentId: string | null = null;
  return records.slice(1).map((record) => {
    const { line, raw } = record;
    const { firstKeptEntryIndex, ...rest } = raw;
    const kept = typeof firstKeptEntryIndex === "number" ? records[firstKeptEntryIndex] : undefined;
    const id = idOf(record);
    const firstKept = kept && kept !== records[0] ? { firstKeptEntryId: idOf(kept) } : {};
    const chained = { parentId, ...rest, id, ...firstKept };
    parentId = id;
    return { line, raw: chained };
  });
}

function placed(
  records: readonly NumberedRecord[],
  otherwise: number,
  skipped: Reported[],
): readonly TranscriptEntry[] {
  const lineOf = new Map<string, number>();
  return records.flatMap(({ line, raw }) => {
    const { id, parentId = null, type } = raw;
    const skip = (reason: string): [] => {
      skipped.push({ line, reason });
      return [];
    };
    if (type === "session") return skip("a second session header");
    if (typeof type !== "string") return skip("no type");
    if (typeof id !== "string" || id === "") return skip("no id");
    if (parentId !== null && typeof parentId !== "string") return skip("the parent is not an id");
    if (lineOf.has(id)) return skip(`its id is already on line ${lineOf.get(id)}`);
    lineOf.set(id, line);
    const place = { line, id: id as EntryId, parentId: parentId as EntryId | null, raw };
    const read = readEntry(JSON.stringify(flatRecord({ ...raw, parentId }, otherwise)));
    if (read.kind === "entry" && read.entry.type !== "session") return [{ ...place, entry: read.entry }];
    // It keeps its place, so that its children are not lost with it.
    skipped.push({ line, reason: read.kind === "broken" ? read.reason : `unknown type ${type}` });
    return [place];
  });
}
