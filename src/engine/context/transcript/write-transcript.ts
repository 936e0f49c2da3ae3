/**
 * One session of an agent as a separate file, in the flat form (version 2) or the nested one (version 3). The markers of
 * the agent's history become the file's header; unknown lines are written as they are.
 */
import { type Entry, readEntry } from "../../../core/history/entry.ts";
import type { AgentId, EntryId, SessionId } from "../../../core/ids.ts";
import { resetText } from "../entries.ts";
import { nestedRecord } from "./nested-shape.ts";
import type { Raw } from "./older-shape.ts";
import type { Reported } from "./tree.ts";

interface SessionLines {
  readonly agentId: AgentId;
  readonly sessionId: SessionId;
  /** The lines of this session in their order, its marker first. */
  readonly lines: readonly string[];
  readonly leaf: EntryId;
  readonly cwd?: string;
  readonly parentSession?: string;
}

export interface WrittenTranscript {
  readonly text: string;
  /** Lines that could not be written, counted from 1. */
  readonly skipped: readonly Reported[];
}

/** `<sessionId>.jsonl`, and for a thread `<sessionId>-topic-<threadId>.jsonl`. */
export function transcriptFileName(sessionId: string, threadId?: string | number): string {
  const topic = threadId === undefined || threadId === "" ? "" : `-topic-${encodeURIComponent(String(threadId))}`;
  return `${encodeURIComponent(sessionId)}${topic}.jsonl`;
}

export function writeTranscript(session: SessionLines, version: 2 | 3): WrittenTranscript {
  const skipped: Reported[] = [];
  const records: Raw[] = [];
  /** Markers that are left out: the children of one begin the file. */
  const left = new Set<string>();
  let startedAt = 0;
  session.lines.forEach((line, index) => {
    const read = readEntry(line);
    if (read.kind === "broken") {
      skipped.push({ line: index + 1, reason: read.reason });
      return;
    }
    const entry = read.kind === "entry" ? asEntryOfAFile(read.entry, session.agentId) : undefined;
    if (read.kind === "entry" && !entry) {
      if (read.entry.type === "start" || read.entry.type === "reset") {
        left.add(read.entry.id);
        startedAt = read.entry.timestamp;
      }
      return;
    }
    const record: Raw = entry ? (version === 3 ? nestedRecord(entry, startedAt) : entry) : (JSON.parse(line) as Raw);
    if (read.kind === "entry" && read.entry.type === "reset") startedAt = read.entry.timestamp;
    const isFirst = typeof record.parentId === "string" && left.has(record.parentId);
    records.push(isFirst || records.length === 0 ? { ...record, parentId: null } : record);
  });
  const tip = left.has(session.leaf) ? undefined : session.leaf;
  const last = records.at(-1)?.id;
  const pointer = tip === undefined || last === tip ? [] : [pointerTo(tip, version, startedAt)];
  const all = [headerOf(session, version, startedAt), ...records, ...pointer];
  return { text: `${all.map((record) => JSON.stringify(record)).join("\n")}\n`, skipped };
}

type EntryOfAFile = Exclude<Entry, { type: "session" | "start" | "reset" }>;

/** A reset with a text opens its session with that text; the other markers become the header. */
function asEntryOfAFile(entry: Entry, agentId: AgentId): EntryOfAFile | undefined {
  if (entry.type === "session" || entry.type === "start") return undefined;
  if (entry.type !== "reset") return entry;
  if (!entry.message) return undefined;
  const { id, parentId, timestamp, message } = entry;
  const text = resetText(agentId, message);
  return { type: "custom_message", id, parentId, role: "user", content: [{ type: "text", text }], timestamp };
}

function headerOf({ sessionId, cwd, parentSession }: SessionLines, version: number, startedAt: number): Raw {
  const timestamp = new Date(startedAt).toISOString();
  return {
    ...{ type: "session", version, id: sessionId, timestamp },
    cwd,
    parentSession,
  };
}

/** Readers take the last line for the tip. If the tip is another line, a line without content is added that points to it. */
function pointerTo(leaf: EntryId, version: 2 | 3, at: number): Raw {
  const entry = {
    type: "custom" as const,
    id: `tip-${leaf}` as EntryId,
    parentId: leaf,
    name: "tip",
    data: { leaf },
    timestamp: at,
  };
  return version === 3 ? nestedRecord(entry, at) : entry;
}
