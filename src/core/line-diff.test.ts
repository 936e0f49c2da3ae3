import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines, unifiedDiff } from "./line-diff.ts";

const text = fc.array(fc.constantFrom("a", "b", "c", "", "d e"), { maxLength: 40 });

describe("the difference of two texts", () => {
  it("contains both texts, whatever they are", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after);
        expect(lines.filter(({ is }) => is !== "+").map((line) => line.text)).toEqual(before);
        expect(lines.filter(({ is }) => is !== "-").map((line) => line.text)).toEqual(after);
      }),
    );
  });

  it("is as short as possible: a line that stays is never shown as removed and added", () => {
    const lines = diffLines(["a", "b", "c", "d"], ["a", "x", "c", "d", "y"]);
    expect(lines.map(({ is, text: of }) => is + of)).toEqual([" a", "-b", "+x", " c", " d", "+y"]);
  });

  it("is written as patches are, with three lines around each change and the place of each part", () => {
    const before = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    const after = before.with(4, "five").toSpliced(25, 1);
    expect(unifiedDiff(`${before.join("\n")}\n`, `${after.join("\n")}\n`, "AGENTS.md")).toBe(
      [
        "--- AGENTS.md",
        "+++ AGENTS.md",
        "@@ -2,7 +2,7 @@",
        ...[" line 2", " line 3", " line 4", "-line 5", "+five", " line 6", " line 7", " line 8"],
        "@@ -23,7 +23,6 @@",
        ...[" line 23", " line 24", " line 25", "-line 26", " line 27", " line 28", " line 29"],
      ].join("\n"),
    );
  });

  it("shows a new file, a removed one, and the missing end of the last line", () => {
    expect(unifiedDiff(null, "a\n", "x")).toBe("--- /dev/null\n+++ x\n@@ -0,0 +1,1 @@\n+a");
    expect(unifiedDiff("a\n", null, "x")).toBe("--- x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a");
    expect(unifiedDiff("a\n", "a", "x")).toContain("\\ No newline at end of file");
    expect(unifiedDiff("a", "a", "x")).toBe("");
  });

  it("shows two texts without a common line whole, at a cost that is linear", () => {
    const before = Array.from({ length: 50_000 }, (_, at) => `a${at}`);
    const after = Array.from({ length: 50_000 }, (_, at) => `b${at}`);
    const lines = diffLines(before, after);
    expect(lines.filter(({ is }) => is === "-")).toHaveLength(50_000);
    expect(lines.filter(({ is }) => is === "+")).toHaveLength(50_000);
  });
});
