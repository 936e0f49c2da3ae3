/** Session files, made up in a word. */
import { seededIds } from "../../../../test/kit/ids.ts";
import { type Entry, entryLine } from "../../../core/history/entry.ts";
import { type AgentId, type EntryId, entryId, type SessionId } from "../../../core/ids.ts";
import type { Raw } from "./older-shape.ts";

export const AT = Date.parse("2026-01-22T10:00:00.000Z");
export const ISO = new Date(AT).toISOString();
export const agentId = "a23456789012345678901234" as AgentId;
export const sessionId = "0198b6a0-0000-7000-8000-000000000001" as SessionId;
export const header = (version?: number): Raw => ({
  type: "session",
  ...(version === undefined ? {} : { version }),
  id: sessionId,
  timestamp: ISO,
  cwd: "/ws",
});
export const text = (value: string) => [{ type: "text", text: value }];

/** A history as the engine writes it: header, start, messages, a reset with words, more messages. */
export function history(): { lines: string[]; ids: EntryId[]; second: SessionId } {
  const second = "0198b6a0-0000-7000-8000-000000000002" as SessionId;
  const ids = Array.from({ length: 7 }, (_, n) => entryId(n, `00000000-0000-7000-8000-00000000000${n}`));
  const [, start, m1, reset, m2, m3, m4] = ids as [EntryId, EntryId, EntryId, EntryId, EntryId, EntryId, EntryId];
  const message = (id: EntryId, parentId: EntryId, said: string): Entry =>
    ({
      type: "message",
      id,
      parentId,
      role: "user",
      content: text(said),
      timestamp: AT,
      runId: "r",
      seqs: [1],
    }) as Entry;
  const lines = [
    entryLine({ type: "session", version: 2, id: sessionId, timestamp: ISO }),
    entryLine({ type: "start", id: start, parentId: null, sessionId, timestamp: AT }),
    entryLine(message(m1, start, "old")),
    entryLine({ type: "reset", id: reset, parentId: m1, sessionId: second, timestamp: AT, message: "afresh" }),
    entryLine(message(m2, reset, "two")),
    JSON.stringify({ type: "label", id: m3, parentId: m2, targetId: m2, label: "here" }),
    entryLine(message(m4, m3, "four")),
  ];
  return { lines, ids, second };
}

export const ids = () => seededIds("transcript");
