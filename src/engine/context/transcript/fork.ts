/**
 * The first lines of a thread's agent, forked from its parent conversation: the thread has the entries up to the
 * parent's tip and continues separately. Lines in, lines out.
 */
import type { AgentDescriptor } from "../../../core/agent/descriptor.ts";
import { type Entry, entryLine, readEntry, TRANSCRIPT_VERSION } from "../../../core/history/entry.ts";
import { type AgentId, type EntryId, entryId, type Ids, type SessionId } from "../../../core/ids.ts";
import { resetText } from "../entries.ts";
import type { Raw } from "./older-shape.ts";

interface Fork {
  readonly descriptor: AgentDescriptor;
  readonly sessionId: SessionId;
  readonly at: number;
  readonly cwd?: string;
  readonly parent: {
    readonly agentId: AgentId;
    readonly sessionId: SessionId;
    /** The lines on the way from the parent's last marker to its tip, in order. */
    readonly lines: readonly string[];
  };
}

/** Fields about the parent's inbox and runs. They have no meaning in another agent's history. */
const NOT_COPIED = new Set(["runId", "seqs"]);
/** Fields that name another entry. */
const REFERENCES = ["firstKeptEntryId", "targetId", "fromId"];

export function forkFirstLines(ids: Pick<Ids, "uuid">, fork: Fork): { lines: readonly string[]; leaf: EntryId } {
  const { descriptor, sessionId, at, cwd, parent } = fork;
  const header: Entry = {
    ...{ type: "session", version: TRANSCRIPT_VERSION, id: sessionId, timestamp: new Date(at).toISOString() },
    cwd,
    parentSession: parent.sessionId,
    descriptor,
  } as const;
  let leaf = entryId(1, ids.uuid());
  const start: Entry = { type: "start", id: leaf, parentId: null, sessionId, timestamp: at };
  const lines = [entryLine(header), entryLine(start)];
  const newIds = new Map<unknown, EntryId>();
  for (const line of parent.lines) {
    const record = copied(line, parent.agentId);
    if (!record) continue;
    const id = entryId(lines.length, ids.uuid());
    if (record.id !== undefined) newIds.set(record.id, id);
    lines.push(JSON.stringify({ ...renewed(record, newIds), type: record.type, id, parentId: leaf }));
    leaf = id;
  }
  return { lines, leaf };
}

/** Markers begin their own sessions and are not copied; the text of a reset is. */
function copied(line: string, agentId: AgentId): Raw | undefined {
  const read = readEntry(line);
  if (read.kind === "broken") return undefined;
  if (read.kind === "unknown") return JSON.parse(line) as Raw;
  const { entry } = read;
  if (entry.type === "session" || entry.type === "start") return undefined;
  if (entry.type !== "reset") return entry;
  if (!entry.message) return undefined;
  const content = [{ type: "text", text: resetText(agentId, entry.message) }];
  return { type: "custom_message", id: entry.id, role: "user", content, timestamp: entry.timestamp };
}

function renewed(record: Raw, newIds: ReadonlyMap<unknown, EntryId>): Raw {
  const { type, id, parentId, ...rest } = record;
  const place = { type, id, parentId };
  const kept = Object.entries(rest).filter(([field]) => !NOT_COPIED.has(field));
  const pointed = kept.map(([field, value]) => [
    field,
    REFERENCES.includes(field) ? (newIds.get(value) ?? value) : value,
  ]);
  return { ...place, ...Object.fromEntries(pointed) };
}
