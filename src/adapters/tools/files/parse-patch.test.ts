import { describe, expect, it } from "vitest";
import { patched } from "./apply-hunks.ts";
import { parsePatch } from "./parse-patch.ts";

const parse = (...lines: readonly string[]) => parsePatch(["*** Begin Patch", ...lines, "*** End Patch"].join("\n"));
const hunksOf = (...lines: readonly string[]) => {
  const [one] = parse("*** Update File: f", ...lines);
  return one?.is === "update" ? one.hunks : [];
};
const apply = (content: string, ...lines: readonly string[]): string => patched(content, hunksOf(...lines), "f");

describe("a patch", () => {
  it("names each file with what happens to it", () => {
    expect(
      parse("*** Add File: a b.txt ", "+x", "+", "*** Delete File: c", "", "*** Update File: d", "@@", "-x", "+y"),
    ).toEqual([
      { is: "add", path: "a b.txt", content: "x\n\n" },
      { is: "delete", path: "c" },
      { is: "update", path: "d", hunks: [{ after: undefined, before: ["x"], now: ["y"] }] },
    ]);
  });

  it("may have other line ends and blanks around it", () => {
    expect(parsePatch("\n *** Begin Patch \r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n ")).toEqual([
      { is: "add", path: "a", content: "x\n" },
    ]);
    expect(parse("*** Add File: empty")).toEqual([{ is: "add", path: "empty", content: "" }]);
  });

  it.each<[string, string, string]>([
    ["no beginning", "*** Add File: a\n+x\n*** End Patch", 'Line 1 of the patch: expected "*** Begin Patch"'],
    ["no end", "*** Begin Patch\n*** Add File: a\n+x", 'Line 3 of the patch: expected "*** End Patch"'],
    ["no file", "*** Begin Patch\n*** End Patch", "Line 2 of the patch: it names no file"],
    ["text before a file", "*** Begin Patch\nx\n*** End Patch", "Line 2 of the patch: expected the name of a file"],
    ["nothing", "", "Line 1 of the patch"],
  ])("with %s is refused", (_, text, problem) => {
    expect(() => parsePatch(text)).toThrow(problem);
  });

  it.each<[string, readonly string[], string]>([
    [
      "lines of a deleted file",
      ["*** Delete File: a", "+x"],
      "Line 3 of the patch: a file that is deleted has no lines",
    ],
    ["a new file with another line", ["*** Add File: a", "+x", " y"], "Line 4 of the patch: each line of a new file"],
    ["an update without lines", ["*** Update File: a"], "Line 3 of the patch: a file that is updated needs lines"],
    ["an update with a stray line", ["*** Update File: a", "-x", "?"], "Line 4 of the patch: expected a line"],
    ["a file twice", ["*** Delete File: a", "*** Update File: a", "-x"], "The patch names a twice."],
    ["a file twice, with blanks", ["*** Delete File: a", "*** Delete File:  a "], "The patch names a twice."],
  ])("with %s is refused", (_, lines, problem) => {
    expect(() => parse(...lines)).toThrow(problem);
  });

  it("changes at most a hundred files", () => {
    const files = (count: number) => Array.from({ length: count }, (_, n) => `*** Delete File: f${n}`);
    expect(parse(...files(100))).toHaveLength(100);
    expect(() => parse(...files(101))).toThrow("more than 100 files");
  });

  it("says after which line a hunk comes, in the forms that models write", () => {
    const after = (line: string) => hunksOf(line, "+x")[0]?.after;
    expect(["@@", "@@ ", "@@ def a:", "@@ def a: @@", "@@  in", "@@x"].map(after)).toEqual([
      undefined,
      undefined,
      "def a:",
      "def a:",
      " in",
      "x",
    ]);
  });

  it("takes an empty line for an empty line of the file", () => {
    expect(hunksOf(" a", "", "-b")).toEqual([{ before: ["a", "", "b"], now: ["a", ""] }]);
  });
});

describe("hunks", () => {
  it.each<[string, string, readonly string[], string]>([
    ["add at the end", "a\nb\n", ["+c"], "a\nb\nc\n"],
    ["add to an empty file", "", ["+c"], "c\n"],
    ["add after a line", "a\nb\n", ["@@ a", "+c"], "a\nc\nb\n"],
    ["add after a line with other blanks", "  a\nb\n", ["@@ a", "+c"], "  a\nc\nb\n"],
    ["prefer the line as it is written", "  a\nx\na\ny\n", ["@@ a", "+c"], "  a\nx\na\nc\ny\n"],
    ["remove the last line", "a\nb\n", ["-b"], "a\n"],
    ["remove everything", "a\n", ["-a"], ""],
    ["keep the missing end of a line", "a\nb", ["-a", "+c"], "c\nb"],
    ["keep an empty last line", "a\n\n", ["-a", "+c"], "c\n\n"],
    ["take the first place after a named line", "k\nx\nx\n", ["@@ k", "-x", "+y"], "k\ny\nx\n"],
    ["follow each other", "x\na\nx\n", ["@@", " a", "@@", "-x", "+y"], "x\na\ny\n"],
  ])("%s", (_, content, lines, after) => {
    expect(apply(content, ...lines)).toBe(after);
  });

  it.each<[string, string, readonly string[], string]>([
    ["in the wrong order", "a\nb\n", ["@@", "-b", "@@", "-a"], "A hunk does not fit f."],
    ["after a line that is not there", "a\n", ["@@ z", "+x"], 'There is no line "z" in f.'],
    ["after a line that is behind it", "a\nb\n", ["@@", " b", "@@ a", "+x"], 'There is no line "a" in f.'],
    ["that overlap with themselves", "a\na\na\n", [" a", " a"], "more than one place"],
    ["with a part of a line", "abc\n", ["-ab"], "A hunk does not fit f."],
  ])("are refused %s", (_, content, lines, problem) => {
    expect(() => apply(content, ...lines)).toThrow(problem);
  });
});
