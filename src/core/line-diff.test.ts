import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unifiedDiff } from "./line-diff.ts";

const text = fc.array(fc.constantFrom("a", "b", "c", "", "d e"), { maxLength: 40 });

/** How many lines two texts have in common at most, in order. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    for (const [at, other] of b.entries())
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    row = next;
  }
  return row[b.length] ?? 0;
}

/** What a patch makes of a text, by the places that its parts name; it has no lines but those. */
function patched(before: readonly string[], patch: string): readonly string[] {
  const out: string[] = [];
  let at = 0;
  for (const line of patch.split("\n").slice(2)) {
    const place = /^@@ -(\d+),(\d+) \+(\d+),\d+ @@$/u.exec(line);
    if (place) {
      const first = Number(place[1]) - (place[2] === "0" ? 0 : 1);
      out.push(...before.slice(at, first));
      at = first;
    } else if (line.startsWith("+")) out.push(line.slice(1));
    else {
      expect(line.slice(1)).toBe(before[at]);
      if (line.startsWith(" ")) out.push(line.slice(1));
      at += 1;
    }
  }
  return [...out, ...before.slice(at)];
}

/** How many lines a patch removes and adds. */
function edits(before: readonly string[], after: readonly string[]): readonly [number, number] {
  const lines = unifiedDiff(written(before), written(after)).split("\n").slice(2);
  return [lines.filter((line) => line.startsWith("-")).length, lines.filter((line) => line.startsWith("+")).length];
}

const numbered = (length: number): string[] => Array.from({ length }, (_, at) => `line ${at + 1}`);
const written = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

describe("the difference of two texts", () => {
  it("has as few edits as possible, and as a patch makes one text of the other", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const kept = longestCommon(before, after);
        expect(edits(before, after)).toEqual([before.length - kept, after.length - kept]);
        expect(patched(before, unifiedDiff(written(before), written(after)))).toEqual(after);
      }),
    );
  });

  it("as a patch names the places of changes that are far apart", () => {
    const changes = fc.array(fc.tuple(fc.nat(99), fc.constantFrom("", "new", "twice")), { maxLength: 6 });
    fc.assert(
      fc.property(changes, (made) => {
        const lines = numbered(100);
        const by = new Map(made);
        const after = lines.flatMap((line, at) => {
          const is = by.get(at);
          return is === undefined ? [line] : is === "" ? [] : is === "new" ? [`new ${line}`] : [line, `more ${line}`];
        });
        expect(patched(lines, unifiedDiff(written(lines), written(after)))).toEqual(after);
      }),
    );
  });

  it("shows two changes in one part if fewer than six lines are between them", () => {
    const parts = (between: number): number => {
      const before = numbered(40);
      const after = before.with(9, "x").with(9 + between + 1, "y");
      return unifiedDiff(written(before), written(after)).split("\n@@ ").length - 1;
    };
    expect([0, 5, 6, 7, 20].map(parts)).toEqual([1, 1, 2, 2, 2]);
  });

  it("is exact up to two hundred edits, and beyond that shows the part in between as removed and added", () => {
    const longer = (added: number): string[] =>
      numbered(250).flatMap((line, at) => (at > 0 && at <= added ? [`new ${at}`, line] : [line]));
    expect(edits(numbered(250), longer(200))).toEqual([0, 200]);
    expect(edits(longer(200), numbered(250))).toEqual([200, 0]);
    expect(edits(numbered(250), longer(201))).toEqual([200, 401]);
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
    expect(unifiedDiff("a\nb\n", "a\nb", "x")).toBe(
      "--- x\n+++ x\n@@ -1,2 +1,3 @@\n a\n b\n\\ No newline at end of file",
    );
    expect(unifiedDiff(null, "", "x")).toBe("");
    expect(unifiedDiff("a\n", "b\n")).toMatch(/^--- file\n\+\+\+ file\n/u);
    expect(unifiedDiff("a", "a", "x")).toBe("");
  });

  it("shows two texts without a common line whole, at a cost that is linear", () => {
    const before = Array.from({ length: 50_000 }, (_, at) => `a${at}`);
    const after = Array.from({ length: 50_000 }, (_, at) => `b${at}`);
    expect(edits(before, after)).toEqual([50_000, 50_000]);
  });
});
