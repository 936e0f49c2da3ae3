import { describe, expect, it } from "vitest";
import { NotFoundError } from "../../../core/errors.ts";
import { readEntry } from "../../../core/history/entry.ts";
import { type EntryId, positionOf, type SessionId } from "../../../core/ids.ts";
import { branchFrom } from "./branch.ts";
import { forkFirstLines } from "./fork.ts";
import type { Raw } from "./older-shape.ts";
import { AT, agentId, history, ids, sessionId, text } from "./transcript.test-kit.ts";

describe("going back to an entry", () => {
  const { lines, ids: known } = history();
  const entries = lines.slice(3).flatMap((line) => {
    const read = readEntry(line);
    return read.kind === "entry" ? [read.entry] : [];
  });
  const from = { entries, nextPos: 7, leaf: known[6] as EntryId, at: AT };

  it("moves the tip", () => {
    const target = known[4] as EntryId;
    expect(branchFrom(ids(), from, target)).toEqual({ leaf: target, ops: [{ op: "leaf.move", leaf: target }] });
  });

  it("does nothing if the entry is the tip already", () => {
    expect(branchFrom(ids(), from, known[6] as EntryId).ops).toEqual([]);
  });

  it("begins the new branch with a summary of the one that is left", () => {
    const target = known[4] as EntryId;
    const { ops, leaf } = branchFrom(ids(), from, target, "we tried four");
    expect(positionOf(leaf)).toBe(7);
    expect(ops).toHaveLength(1);
    const [op] = ops;
    if (op?.op !== "entries.append") throw new TypeError("no append");
    expect(op).toMatchObject({ position: 7, leaf });
    expect(op.lines.map((line) => JSON.parse(line))).toEqual([
      {
        type: "branch_summary",
        id: leaf,
        parentId: target,
        summary: "we tried four",
        fromId: from.leaf,
        timestamp: AT,
      },
    ]);
  });

  it("refuses an entry of an earlier session, and an unknown one", () => {
    for (const target of [known[2], "nobody"])
      expect(() => branchFrom(ids(), from, target as EntryId)).toThrow(NotFoundError);
  });
});

describe("a thread that forks from its parent", () => {
  const thread = {
    type: "user",
    connector: "telegram",
    userId: "7",
    channelId: "70",
    peerKind: "group",
    threadId: 5,
  } as const;
  const child = "0198b6a0-0000-7000-8000-00000000000f" as SessionId;

  it("begins with copies of the entries up to the parent's tip", () => {
    const { lines, second } = history();
    const parent = { agentId, sessionId: second, lines: lines.slice(3) };
    const forked = forkFirstLines(ids(), { descriptor: thread, sessionId: child, at: AT + 1, parent });
    const records = forked.lines.map((line) => JSON.parse(line) as Raw);
    expect(records[0]).toMatchObject({
      type: "session",
      version: 2,
      id: child,
      parentSession: second,
      descriptor: thread,
    });
    expect(records[1]).toMatchObject({ type: "start", parentId: null, sessionId: child, timestamp: AT + 1 });
    expect(records.slice(2).map(({ type }) => type)).toEqual(["custom_message", "message", "label", "message"]);
    records.slice(2).forEach((record, index) => {
      expect(positionOf(record.id as EntryId)).toBe(index + 2);
      expect(record.parentId).toBe(records[index + 1]?.id);
      expect(record).not.toHaveProperty("runId");
      expect(record).not.toHaveProperty("seqs");
    });
    expect(records[4]?.targetId).toBe(records[3]?.id);
    expect(forked.leaf).toBe(records.at(-1)?.id);
    for (const line of forked.lines) expect(readEntry(line).kind).not.toBe("broken");
  });

  it("keeps the entries that a compaction kept", () => {
    const base = { role: "user", content: text("x"), timestamp: AT } as const;
    const lines = [
      JSON.stringify({ type: "message", id: "a", parentId: null, ...base }),
      JSON.stringify({ type: "message", id: "b", parentId: "a", ...base }),
      JSON.stringify({
        type: "compaction",
        id: "c",
        parentId: "b",
        summary: "s",
        firstKeptEntryId: "b",
        tokensBefore: 1,
      }),
      "{torn",
    ];
    const fork = { descriptor: thread, sessionId: child, at: AT, parent: { agentId, sessionId, lines } };
    const records = forkFirstLines(ids(), fork).lines.map((line) => JSON.parse(line) as Raw);
    expect(records).toHaveLength(5);
    expect(records[4]?.firstKeptEntryId).toBe(records[3]?.id);
  });

  it("begins empty if the parent is empty", () => {
    const parent = { agentId, sessionId, lines: [] };
    const forked = forkFirstLines(ids(), { descriptor: thread, sessionId: child, at: AT, cwd: "/ws", parent });
    expect(forked.lines).toHaveLength(2);
    expect(positionOf(forked.leaf)).toBe(1);
  });
});
