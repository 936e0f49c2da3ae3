import { describe, expect, it } from "vitest";
import { seededIds } from "../../../test/kit/ids.ts";
import { type Entry, entryLine } from "../../core/history/entry.ts";
import type { AgentId, EntryId, SessionId } from "../../core/ids.ts";
import { chain, type EntryDraft, resetMarker } from "./entries.ts";
import { readSession } from "./session-entries.ts";

const AGENT = "a".repeat(24) as AgentId;
const [FIRST, SECOND] = ["s1", "s2"] as SessionId[];
const said = (n: number): EntryDraft =>
  ({ type: "message", role: "user", content: [{ type: "text", text: `m${n}` }], timestamp: n }) as EntryDraft;

/** A history of two sessions with so many messages each, and a store that counts what is read of it. */
function history(first: number, second: number, more: readonly string[] = []) {
  const many = (count: number): EntryDraft[] => Array.from({ length: count }, (_, n) => said(n));
  const start = { type: "start", sessionId: FIRST, timestamp: 1 } as EntryDraft;
  const drafts = [start, ...many(first), resetMarker(SECOND as SessionId, 2), ...many(second)];
  const { entries } = chain(seededIds("sessions"), { nextPos: 0, leaf: "none" as EntryId }, drafts);
  const lines = [...entries.map(entryLine), ...more];
  const reads: number[] = [];
  const linesBack = async (_agent: AgentId, { before = lines.length, limit }: { before?: number; limit: number }) => {
    reads.push(limit);
    return lines
      .map((line, position) => ({ position, line }))
      .slice(0, before)
      .reverse()
      .slice(0, limit);
  };
  return { store: { linesBack } as never, entries, lines, reads };
}
const ids = (entries: readonly Entry[]): readonly string[] => entries.map(({ id }) => id);

describe("a session", () => {
  it.each([
    [3, 2],
    [100, 2],
    [0, 0],
    [64, 64],
    [5, 300],
  ])("with %d messages, and %d in the one after it, is read whole and in order", async (first, second) => {
    const { store, entries, lines } = history(first, second);
    const earlier = await readSession(store, AGENT, FIRST as SessionId);
    expect(earlier.lines).toEqual(lines.slice(0, first + 1));
    expect(ids(earlier.entries)).toEqual(ids(entries.slice(0, first + 1)));
    expect(earlier.lastLeaf).toBe(entries[first]?.id);
    const current = await readSession(store, AGENT, SECOND as SessionId);
    expect(current.lines).toEqual(lines.slice(first + 1));
    expect(ids(current.entries)).toEqual(ids(entries.slice(first + 1)));
    expect(current.lastLeaf).toBeUndefined();
  });

  it("that does not exist is empty, and the search ends", async () => {
    for (const count of [0, 30, 62]) {
      const { store } = history(count, 1);
      expect(await readSession(store, AGENT, "other" as SessionId)).toEqual({ lines: [], entries: [] });
    }
  });

  it("keeps a line that cannot be read, without an entry for it", async () => {
    const { store, lines } = history(1, 1, ["{oops"]);
    const { lines: read, entries } = await readSession(store, AGENT, SECOND as SessionId);
    expect(read).toEqual(lines.slice(2));
    expect(entries).toHaveLength(2);
  });

  it("is read in pages that double up to 1,024 lines, and nothing before its marker is read", async () => {
    const { store, reads } = history(600, 2_500);
    await readSession(store, AGENT, SECOND as SessionId);
    expect(reads).toEqual([64, 128, 256, 512, 1_024, 1_024]);
  });
});
