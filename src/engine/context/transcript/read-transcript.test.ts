import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntryId } from "../../../core/ids.ts";
import type { Raw } from "./older-shape.ts";
import { readTranscript } from "./read-transcript.ts";
import { AT, header, ISO, sessionId, text } from "./transcript.test-kit.ts";
import { pathTo } from "./tree.ts";

const file = (...records: readonly unknown[]): string => `${records.map((one) => JSON.stringify(one)).join("\n")}\n`;

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
