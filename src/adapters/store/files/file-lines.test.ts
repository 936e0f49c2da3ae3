/** Files of lines, read from either end in portions of a megabyte. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { endOfLastLine, fileLines, lastLines } from "./file-lines.ts";
import { compareMark, type Mark, readMark, writeMark } from "./mark-file.ts";
import { MemoryFiles } from "./memory-files.test-kit.ts";

const MEGABYTE = 1 << 20;

function fileWith(text: string): MemoryFiles {
  const files = new MemoryFiles();
  files.replace("lines", text);
  return files;
}

describe("the lines of a file", () => {
  test("are all there, with where each begins, and the last may lack its end", () => {
    const some = fc.array(fc.constantFrom("", "a", "ä", "long ".repeat(30)), { maxLength: 8 });
    fc.assert(
      fc.property(some, fc.boolean(), (lines, complete) => {
        const text = lines.join("\n") + (complete && lines.length > 0 ? "\n" : "");
        const files = fileWith(text);
        const found = [...fileLines(files, "lines")];
        const wanted = text === "" ? [] : text.replace(/\n$/, "").split("\n");
        expect(found.map((one) => one.text)).toEqual(wanted);
        for (const one of found)
          expect(Buffer.from(text).subarray(one.offset).toString().startsWith(one.text)).toBe(true);
        expect(found.map((one) => one.complete)).toEqual(
          wanted.map((_line, index) => index < wanted.length - 1 || text.endsWith("\n")),
        );
        const size = Buffer.byteLength(text);
        expect(endOfLastLine(files, "lines", size)).toBe(Buffer.byteLength(text.slice(0, text.lastIndexOf("\n") + 1)));
      }),
    );
    expect([...fileLines(new MemoryFiles(), "none")]).toEqual([]);
  });

  test("are whole across the border of a portion", () => {
    const [first, second] = ["x".repeat(MEGABYTE - 2), "y".repeat(MEGABYTE + 5)];
    const files = fileWith(`${first}\nab\n${second}\nend`);
    expect([...fileLines(files, "lines")].map(({ text, offset }) => [text.length, offset])).toEqual([
      [MEGABYTE - 2, 0],
      [2, MEGABYTE - 1],
      [MEGABYTE + 5, MEGABYTE + 2],
      [3, 2 * MEGABYTE + 8],
    ]);
    const size = files.size("lines") ?? 0;
    expect(endOfLastLine(files, "lines", size)).toBe(size - 3);
    expect(endOfLastLine(files, "lines", MEGABYTE + 2 + 1)).toBe(MEGABYTE + 2);
    expect(endOfLastLine(files, "lines", MEGABYTE - 2)).toBe(0);
    expect(endOfLastLine(files, "lines", MEGABYTE - 1)).toBe(MEGABYTE - 1);
  });

  test("are read a megabyte at a time, so that a long file is never in memory as a whole", () => {
    const lengths: number[] = [];
    const files = new (class extends MemoryFiles {
      override readAt(path: string, offset: number, length: number): Buffer {
        lengths.push(length);
        return super.readAt(path, offset, length);
      }
    })();
    files.replace("lines", `${"x".repeat(2 * MEGABYTE)}\n${"y".repeat(MEGABYTE)}`);
    expect([...fileLines(files, "lines")]).toHaveLength(2);
    expect(endOfLastLine(files, "lines", files.size("lines") ?? 0)).toBe(2 * MEGABYTE + 1);
    expect(Math.max(...lengths)).toBe(MEGABYTE);
    expect(lengths).toHaveLength(4 + 2);
  });

  test.each([
    ["", 100, [], true],
    ["one\ntwo\nthree\n", 100, ["one", "two", "three"], true],
    ["one\ntwo\nthree\n", 14, ["one", "two", "three"], true],
    ["one\ntwo\nthree\n", 13, ["two", "three"], false],
    ["one\ntwo\nthree\n", 7, ["three"], false],
    ["one\ntwo\nthree\n", 1, ["three"], false],
    [`${"x".repeat(50)}\nend\n`, 4, ["end"], false],
    [`${"x".repeat(50)}\n`, 4, ["x".repeat(50)], true],
    [`${"a\n".repeat(9)}${"x".repeat(31)}\n`, 4, ["a", "a", "a", "a", "a", "a", "a", "a", "a", "x".repeat(31)], true],
    [`a\n${"x".repeat(34)}\n`, 4, ["a", "x".repeat(34)], true],
    // A window in which no line begins is too small, also if the file ends without a line end.
    ["one\ntwo\nthree!", 4, ["one", "two", "three"], true],
  ])("%j: the last that fit into %i bytes", (text, bytes, lines, whole) => {
    expect(lastLines(fileWith(text), "lines", { start: 0, end: text.length }, bytes)).toEqual({ lines, whole });
  });
});

describe("the mark of the plain files", () => {
  const mark: Mark = { version: 1, synced: 7, change: "c7", at: 5, clean: true };

  test("is read as it was written", () => {
    const files = new MemoryFiles();
    expect(readMark(files)).toBeUndefined();
    writeMark(files, mark);
    expect(readMark(files)).toEqual(mark);
  });

  test.each<[string, object]>([
    ["of another version", { version: 2 }],
    ["with a broken number", { synced: 1.5 }],
    ["before the first change", { synced: -1 }],
    ["without the change", { change: 5 }],
    ["without a time", { at: "now" }],
    ["that does not say whether it is clean", { clean: 1 }],
  ])("%s counts as none, so that every agent is compared", (_what, wrong) => {
    const files = new MemoryFiles();
    writeMark(files, { ...mark, ...wrong } as Mark);
    expect(readMark(files)).toBeUndefined();
  });

  test.each(["", "null", "[]", "{", '"text"'])("with the text %j counts as none", (text) => {
    const files = new MemoryFiles();
    files.replace("mirror.json", text);
    expect(readMark(files)).toBeUndefined();
  });

  test("of an empty database is accepted", () => {
    const files = new MemoryFiles();
    writeMark(files, { ...mark, synced: 0, change: null });
    expect(readMark(files)).toMatchObject({ synced: 0, change: null });
  });

  test.each<[string, Partial<Mark>, string]>([
    ["the same change", {}, "same"],
    ["another change under its number", { change: "x" }, "other"],
    ["a number that the database has not reached", { synced: 99 }, "other"],
    ["a number that was pruned", { synced: 3 }, "unknown"],
    ["the first number that is left, gone", { synced: 5 }, "other"],
    ["nothing, of a database that has nothing", { synced: 0, change: null }, "same"],
    ["nothing, with a change", { synced: 0, change: "x" }, "unknown"],
  ])("names %s: %j is %s", (_what, given, wanted) => {
    const source = {
      bounds: () => ({ first: 5, last: 9 }),
      changeId: (n: number) => (n === 7 ? "c7" : undefined),
    };
    expect(compareMark(source as never, { ...mark, ...given })).toBe(wanted);
  });
});
