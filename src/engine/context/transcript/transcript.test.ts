import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededIds } from "../../../../test/kit/ids.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { type Entry, entryLine, readEntry } from "../../../core/history/entry.ts";
import { type AgentId, type EntryId, entryId, positionOf, type SessionId } from "../../../core/ids.ts";
import { modelMessages } from "../context.ts";
import { branchFrom } from "./branch.ts";
import { forkFirstLines } from "./fork.ts";
import { nestedRecord } from "./nested-shape.ts";
import { flatRecord, type Raw } from "./older-shape.ts";
import { readTranscript } from "./read-transcript.ts";
import { pathTo } from "./tree.ts";
import { sessionLines, transcriptFileName, writeTranscript } from "./write-transcript.ts";

const AT = Date.parse("2026-01-22T10:00:00.000Z");
const ISO = new Date(AT).toISOString();
const agentId = "a23456789012345678901234" as AgentId;
const sessionId = "0198b6a0-0000-7000-8000-000000000001" as SessionId;
const file = (...records: readonly unknown[]): string => `${records.map((one) => JSON.stringify(one)).join("\n")}\n`;
const header = (version?: number): Raw => ({
  type: "session",
  ...(version === undefined ? {} : { version }),
  id: sessionId,
  timestamp: ISO,
  cwd: "/ws",
});
const text = (value: string) => [{ type: "text", text: value }];
const usage = {
  ...{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

describe("the two shapes of an entry", () => {
  const place = { id: "b", parentId: "a" };
  const call = [{ type: "toolCall", id: "t1", name: "read", arguments: { path: "x" } }];
  const said = { api: "anthropic", provider: "anthropic", model: "m", usage };
  /** Each row holds in both directions: the flat form and the nested one. */
  const table: readonly [string, Raw, Raw][] = [
    [
      "a person's message",
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
      { type: "message", ...place, timestamp: ISO, message: { role: "user", content: text("hi"), timestamp: AT } },
    ],
    [
      "an assistant's message, its calls and its stop reason",
      { type: "message", ...place, role: "assistant", content: call, ...said, stopReason: "tool_calls", timestamp: AT },
      {
        type: "message",
        ...place,
        timestamp: ISO,
        message: { role: "assistant", content: call, ...said, stopReason: "toolUse", timestamp: AT },
      },
    ],
    [
      "a tool's result",
      {
        type: "message",
        ...place,
        role: "tool",
        content: text("x"),
        toolCallId: "t1",
        toolName: "read",
        isError: true,
        timestamp: AT,
      },
      {
        type: "message",
        ...place,
        timestamp: ISO,
        message: {
          role: "toolResult",
          content: text("x"),
          toolCallId: "t1",
          toolName: "read",
          isError: true,
          timestamp: AT,
        },
      },
    ],
    [
      "a hidden message of an extension",
      {
        type: "custom_message",
        ...place,
        role: "user",
        content: text("psst"),
        hidden: true,
        customType: "ext",
        timestamp: AT,
      },
      { type: "custom_message", ...place, timestamp: ISO, content: text("psst"), display: false, customType: "ext" },
    ],
    [
      "an extension's state",
      { type: "custom", ...place, name: "ext", data: { n: 1 }, timestamp: AT },
      { type: "custom", ...place, timestamp: ISO, customType: "ext", data: { n: 1 } },
    ],
    [
      "a compaction",
      {
        type: "compaction",
        ...place,
        summary: "s",
        firstKeptEntryId: "a",
        tokensBefore: 9,
        details: { d: 1 },
        timestamp: AT,
      },
      {
        type: "compaction",
        ...place,
        timestamp: ISO,
        summary: "s",
        firstKeptEntryId: "a",
        tokensBefore: 9,
        details: { d: 1 },
      },
    ],
    [
      "a branch's summary",
      { type: "branch_summary", ...place, summary: "s", fromId: "z", timestamp: AT },
      { type: "branch_summary", ...place, timestamp: ISO, summary: "s", fromId: "z" },
    ],
  ];
  it.each(table)("%s", (_, flat, nested) => {
    expect(flatRecord(nested, 0)).toEqual(flat);
    expect(flatRecord(flat, 0)).toEqual(flat);
    const read = readEntry(JSON.stringify(flat));
    expect(read.kind).toBe("entry");
    if (read.kind !== "entry") return;
    expect(nestedRecord(read.entry as Parameters<typeof nestedRecord>[0], 0)).toEqual(nested);
  });

  const oneWay: readonly [string, Raw, Raw][] = [
    [
      "content as a text",
      { type: "message", ...place, message: { role: "user", content: "hi", timestamp: AT } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
    ],
    [
      "the entry's time if the message has none",
      { type: "message", ...place, timestamp: ISO, message: { role: "user", content: "hi" } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: AT },
    ],
    [
      "the file's time if neither has one",
      { type: "message", ...place, message: { role: "user", content: "hi" } },
      { type: "message", ...place, role: "user", content: text("hi"), timestamp: 5 },
    ],
    [
      "a hook's message (version 2)",
      {
        type: "message",
        ...place,
        message: { role: "hookMessage", customType: "h", content: "x", display: true, timestamp: AT },
      },
      { type: "custom_message", ...place, role: "user", customType: "h", content: text("x"), timestamp: AT },
    ],
    [
      "a command a person ran",
      { type: "message", ...place, message: { role: "bashExecution", command: "ls", output: "a", timestamp: AT } },
      {
        type: "custom_message",
        ...place,
        role: "user",
        content: text("Ran `ls`\na"),
        timestamp: AT,
        details: { role: "bashExecution", command: "ls", output: "a", timestamp: AT },
      },
    ],
    [
      "an unknown stop reason",
      { type: "message", ...place, message: { role: "assistant", content: [], stopReason: "tired", timestamp: AT } },
      { type: "message", ...place, role: "assistant", content: [], timestamp: AT },
    ],
  ];
  it.each(oneWay)("reads %s", (_, nested, flat) => {
    expect(flatRecord(nested, 5)).toEqual(flat);
  });
});

describe("the nested form of a message", () => {
  const place = { type: "message", id: "b", parentId: "a", content: text("x"), timestamp: AT };
  const nestedOf = (more: Raw): unknown => nestedRecord({ ...place, ...more } as never, 0).message;

  it.each([
    ["tool_calls", "toolUse"],
    ["stop", "stop"],
    ["length", "length"],
    ["error", "error"],
    ["aborted", "aborted"],
    [undefined, "stop"],
  ])("has for the stop reason %s that of version 3: %s", (stopReason, stop) => {
    expect(nestedOf({ role: "assistant", stopReason })).toMatchObject({ stopReason: stop });
  });

  it("has every field that readers of version 3 need, also if the entry has none of them", () => {
    const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    expect(nestedOf({ role: "assistant" })).toEqual({
      ...{ role: "assistant", content: text("x"), timestamp: AT, api: "", provider: "", model: "", stopReason: "stop" },
      usage: { ...nothing, totalTokens: 0, cost: { ...nothing, total: 0 } },
    });
    expect(nestedOf({ role: "tool" })).toEqual({
      ...{ role: "toolResult", content: text("x"), timestamp: AT, toolCallId: "", toolName: "", isError: false },
    });
  });
});

describe("reading a session file", () => {
  const said = (id: string, parentId: string | null): Raw => ({
    type: "message",
    id,
    parentId,
    role: "user",
    content: text(id),
    timestamp: AT,
  });

  it("reads the flat form of version 2", () => {
    const read = readTranscript(file(header(2), said("a", null), said("b", "a")));
    expect(read).toMatchObject({
      version: 2,
      leaf: "b",
      skipped: [],
      problems: [],
      header: { id: sessionId, cwd: "/ws" },
    });
    expect(read.entries.map(({ entry }) => entry)).toEqual([said("a", null), said("b", "a")]);
  });

  it("reads version 1, which has no ids, as a chain, and its compaction's index as an id", () => {
    const message = (value: string): Raw => ({
      type: "message",
      timestamp: ISO,
      message: { role: "user", content: value },
    });
    const compaction = { type: "compaction", summary: "s", firstKeptEntryIndex: 2, tokensBefore: 5, timestamp: ISO };
    const read = readTranscript(file(header(), message("one"), message("two"), compaction, message("three")));
    expect(read.version).toBe(1);
    expect(read.skipped).toEqual([]);
    expect(read.entries.map(({ id, parentId }) => [id, parentId])).toEqual([
      ["00000002", null],
      ["00000003", "00000002"],
      ["00000004", "00000003"],
      ["00000005", "00000004"],
    ]);
    expect(read.entries[2]?.entry).toMatchObject({ type: "compaction", firstKeptEntryId: "00000003" });
  });

  it("gives the lines of version 1 ids of eight hexadecimal digits", () => {
    const many = Array.from({ length: 17 }, () => ({ type: "custom", name: "n", timestamp: ISO }));
    const ids = readTranscript(file(header(), ...many)).entries.map(({ id }) => id);
    expect([ids[8], ids[13], ids[14], ids[15], ids[16]]).toEqual([
      "0000000a",
      "0000000f",
      "00000010",
      "00000011",
      "00000012",
    ]);
  });

  it("keeps unknown types in the chain, reports them, and continues", () => {
    const change = { type: "model_change", id: "b", parentId: "a", provider: "p", modelId: "m", timestamp: ISO };
    const read = readTranscript(file(header(3), said("a", null), change, said("c", "b")));
    expect(read.skipped).toEqual([{ line: 3, reason: "unknown type model_change" }]);
    expect(read.entries[1]).toMatchObject({ id: "b", parentId: "a", raw: change });
    expect(pathTo(read.entries, read.leaf).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  const skipped: readonly [string, string, number, string | RegExp][] = [
    ["a blank line", `${file(header(2))}\n${file(said("a", null))}`, 2, "a blank line"],
    ["a line of spaces", `${file(header(2))}  \n${file(said("a", null))}`, 2, "a blank line"],
    ["a line that is not JSON", `${file(header(2))}{oops\n${file(said("a", null))}`, 2, /^not JSON/],
    ["a line that is a list", file(header(2), [1], said("a", null)), 2, "not an object"],
    ["a second header", file(header(2), header(2), said("a", null)), 2, "a second session header"],
    ["an entry without a type", file(header(2), { id: "x", parentId: null }, said("a", null)), 2, "no type"],
    ["an entry without an id", file(header(2), { type: "custom" }, said("a", null)), 2, "no id"],
    [
      "a parent that is not an id",
      file(header(2), { type: "custom", id: "x", parentId: 5 }, said("a", null)),
      2,
      "the parent is not an id",
    ],
    ["an id that occurs twice", file(header(2), said("a", null), said("a", null)), 3, "its id is already on line 2"],
    ["a last line that was cut off", `${file(header(2), said("a", null))}{"type":"mess`, 3, "cut off before its end"],
  ];
  it.each(skipped)("reports the line of %s", (_, content, line, reason) => {
    const read = readTranscript(content);
    expect(read.skipped).toEqual([
      { line, reason: typeof reason === "string" ? reason : expect.stringMatching(reason) },
    ]);
    expect(read.entries.map(({ id }) => id)).toEqual(["a"]);
  });

  it("keeps the place of an entry whose content is wrong", () => {
    const read = readTranscript(file(header(2), { ...said("a", null), content: 5 }, said("b", "a")));
    expect(read.skipped).toEqual([{ line: 2, reason: expect.stringContaining("content") }]);
    expect(pathTo(read.entries, "b" as EntryId).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it.each([
    ["nothing", ""],
    ["no header", file(said("a", null), said("b", "a"))],
    ["a header without an id", file({ type: "session", version: 2 }, said("b", null))],
  ])("treats a file with %s as empty, and reports every line", (_, content) => {
    const read = readTranscript(content);
    expect(read).toMatchObject({ entries: [], leaf: null });
    expect(read.header).toBeUndefined();
    expect(read.skipped).toHaveLength(content.split("\n").length - 1);
  });

  it("reports the lines of a file without a header in their order", () => {
    const read = readTranscript(`${file(said("a", null))}\n${file(said("b", "a"))}{oops\n`);
    const reason = "the file does not begin with a session header";
    expect(read.skipped).toEqual([
      { line: 1, reason },
      { line: 2, reason: "a blank line" },
      { line: 3, reason },
      { line: 4, reason: expect.stringMatching(/^not JSON/) },
    ]);
  });

  it("reports lines in their order, whatever is wrong with each", () => {
    const read = readTranscript(`${file(header(2), { type: "custom" })}{oops\n${file({ id: "x" }, said("a", null))}`);
    expect(read.skipped.map(({ line }) => line)).toEqual([2, 3, 4]);
  });

  it("knows when a session began, and takes the beginning of time if the header does not say", () => {
    expect(readTranscript(file(header(2))).header?.timestamp).toBe(ISO);
    const without = readTranscript(file({ ...header(2), timestamp: 5 }, said("a", null)));
    expect(without.header?.timestamp).toBe("1970-01-01T00:00:00.000Z");
    expect(without.entries).toHaveLength(1);
  });

  it.each([
    [ISO, AT],
    ["some day", 0],
    [undefined, 0],
  ])("gives a message without a time that of the header: %s", (timestamp, at) => {
    const { timestamp: _, ...timeless } = said("a", null);
    const read = readTranscript(file({ ...header(2), timestamp }, timeless, { ...said("b", "a"), timestamp: 5 }));
    expect(read.entries.map(({ entry }) => entry?.timestamp)).toEqual([at, 5]);
  });

  it("reports a missing parent and a circle, and every path still ends", () => {
    const missing = readTranscript(file(header(2), said("b", "gone"), said("c", "b")));
    expect(missing.problems).toEqual([{ line: 2, reason: "its parent gone is missing" }]);
    expect(pathTo(missing.entries, missing.leaf).map(({ id }) => id)).toEqual(["b", "c"]);
    const circle = readTranscript(file(header(2), said("a", "b"), said("b", "a"), said("c", "b")));
    expect(circle.problems).toEqual([{ line: 2, reason: "its parents lead back to itself" }]);
    expect(pathTo(circle.entries, circle.leaf)).toHaveLength(3);
    const itself = readTranscript(file(header(2), said("a", "a")));
    expect(itself.problems).toEqual([{ line: 2, reason: "its parents lead back to itself" }]);
  });

  it("leaves an unreadable descriptor out, and keeps a readable one", () => {
    const good = { type: "heartbeat" };
    expect(readTranscript(file({ ...header(2), descriptor: good })).header?.descriptor).toEqual(good);
    const bad = readTranscript(file({ ...header(2), descriptor: { type: "nonsense" } }));
    expect(bad.header).toBeDefined();
    expect(bad.header?.descriptor).toBeUndefined();
  });

  it("loses no line of any tree, and terminates, even if lines are torn, missing or circular", () => {
    const nodes = fc.array(
      fc.tuple(fc.nat(30), fc.constantFrom("message", "custom", "odd_type", "broken"), fc.nat(9)),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(nodes, fc.nat(400), (tree, cut) => {
        const records = tree.map(([parent, type, kind], index): Raw => {
          const parentId = kind === 0 ? "gone" : parent > 25 ? null : String(parent);
          if (type === "message") return said(String(index), parentId);
          return { type: type === "broken" ? "compaction" : type, id: String(index), parentId, name: "n", data: 1 };
        });
        const whole = file(header(2), ...records);
        const torn = whole.slice(0, Math.max(1, whole.length - cut));
        const read = readTranscript(torn);
        const lines = torn.endsWith("\n") ? torn.split("\n").length - 1 : torn.split("\n").length;
        const named = new Set([...read.skipped.map(({ line }) => line), ...read.entries.map(({ line }) => line)]);
        if (read.header) named.add(1);
        expect([...named].sort((a, b) => a - b)).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
        for (const { id } of read.entries) expect(pathTo(read.entries, id).at(-1)?.id).toBe(id);
        const known = new Set(read.entries.map(({ id }) => id));
        const orphans = read.entries.filter(({ parentId }) => parentId !== null && !known.has(parentId));
        const reported = read.problems.map(({ line }) => line);
        for (const { line } of orphans) expect(reported).toContain(line);
      }),
    );
  });
});

/** A history as the engine writes it: header, start, messages, a reset with words, more messages. */
function history(): { lines: string[]; ids: EntryId[]; second: SessionId } {
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

describe("writing a session file", () => {
  const { lines, ids, second } = history();
  const leaf = ids[6] as EntryId;

  it("selects the lines of one session from a history", () => {
    expect(sessionLines(lines, sessionId)).toEqual(lines.slice(1, 3));
    expect(sessionLines(lines, second)).toEqual(lines.slice(3));
    expect(sessionLines(lines, "other" as SessionId)).toEqual([]);
    expect(sessionLines(lines.slice(-1), sessionId)).toEqual([]);
  });

  it.each([2, 3] as const)("writes version %i, which reads back to the same context", (version) => {
    const session = { agentId, sessionId: second, lines: sessionLines(lines, second), leaf, cwd: "/ws" };
    const { text: written, skipped } = writeTranscript({ ...session, parentSession: sessionId }, version);
    expect(skipped).toEqual([]);
    expect(written.endsWith("\n")).toBe(true);
    expect(JSON.parse(written.split("\n")[0] ?? "")).toEqual({
      ...{ type: "session", version, id: second, timestamp: ISO, cwd: "/ws", parentSession: sessionId },
    });
    const read = readTranscript(written);
    expect(read.problems).toEqual([]);
    expect(read.leaf).toBe(leaf);
    const entries = (from: readonly { entry?: Entry }[]): Entry[] => from.flatMap(({ entry }) => entry ?? []);
    const before = modelMessages(
      agentId,
      lines.slice(3).flatMap((line) => {
        const one = readEntry(line);
        return one.kind === "entry" ? [one.entry] : [];
      }),
    );
    const after = modelMessages(agentId, entries(pathTo(read.entries, read.leaf)));
    const words = (messages: typeof before) => messages.map(({ role, content }) => ({ role, content }));
    expect(words(after)).toEqual(words(before));
    expect(read.entries.map(({ raw }) => raw.type)).toEqual(["custom_message", "message", "label", "message"]);
    // Version 3 puts the words of a message below `message`, version 2 beside its id.
    const [, spoken] = read.entries;
    expect([typeof spoken?.raw.message, typeof spoken?.raw.role]).toEqual(
      version === 3 ? ["object", "undefined"] : ["undefined", "string"],
    );
  });

  it.each([2, 3] as const)("points to the tip if it is not the last line (version %i)", (version) => {
    const back = ids[4] as EntryId;
    const { text: written } = writeTranscript(
      { agentId, sessionId: second, lines: lines.slice(3), leaf: back },
      version,
    );
    const read = readTranscript(written);
    const path = pathTo(read.entries, read.leaf).map(({ id }) => id);
    expect(path.at(-2)).toBe(back);
    expect(read.entries.at(-1)?.entry).toMatchObject({ type: "custom", name: "tip", data: { leaf: back } });
  });

  it("writes an empty session as its header alone", () => {
    const empty = { agentId, sessionId, lines: lines.slice(1, 2), leaf: ids[1] as EntryId };
    const { text: written } = writeTranscript(empty, 2);
    expect(readTranscript(written)).toMatchObject({ entries: [], leaf: null, header: { id: sessionId } });
  });

  it("reports a line that it cannot write", () => {
    const broken = { agentId, sessionId, lines: [...lines.slice(1, 3), "{oops"], leaf: ids[2] as EntryId };
    const { skipped } = writeTranscript(broken, 2);
    expect(skipped).toEqual([{ line: 3, reason: expect.stringMatching(/^not JSON/) }]);
  });

  it.each([
    ["s1", undefined, "s1.jsonl"],
    ["s1", 789, "s1-topic-789.jsonl"],
    ["s1", "T.5", "s1-topic-T.5.jsonl"],
    ["s1", "../x", "s1-topic-..%2Fx.jsonl"],
    ["../s", undefined, "..%2Fs.jsonl"],
  ])("names the file of %s, thread %s: %s", (id, thread, name) => {
    expect(transcriptFileName(id, thread)).toBe(name);
  });
});

const ids = () => seededIds("transcript");

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
