import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closestWord, editDistance } from "./closest-word.ts";

describe("editDistance", () => {
  it.each([
    ["", "", 0],
    ["port", "port", 0],
    ["prot", "port", 1],
    ["por", "port", 1],
    ["ports", "port", 1],
    ["pert", "port", 1],
    ["kitten", "sitting", 3],
    ["a", "", 1],
    ["", "ab", 2],
    ["ab", "xy", 2],
    ["abcd", "acbd", 1],
    ["abc", "cab", 2],
  ])("counts the edits from %j to %j as %i", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  /** The same by trying everything. */
  function fewest(a: string, b: string): number {
    if (a === "" || b === "") return a.length + b.length;
    const swapped = b[1] !== undefined && a[0] === b[1] && a[1] === b[0];
    return Math.min(
      fewest(a.slice(1), b) + 1,
      fewest(a, b.slice(1)) + 1,
      fewest(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1),
      swapped ? fewest(a.slice(2), b.slice(2)) + 1 : Number.POSITIVE_INFINITY,
    );
  }

  it("is the fewest edits, the same in both directions", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 5 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(fewest(a, b));
        expect(editDistance(b, a)).toBe(editDistance(a, b));
      }),
    );
  });

  it("counts characters, not their halves", () => {
    expect(editDistance("a\u{1f600}", "a")).toBe(1);
    expect(editDistance("\u{1f600}", "\u{1f680}")).toBe(1);
  });
});

describe("closestWord", () => {
  const words = ["gateway", "models", "profiles", "queue", "config", "help"];

  it.each([
    ["gatway", "gateway"],
    ["modles", "models"],
    ["QUEUE", "queue"],
    ["conf", "config"],
    ["hlep", "help"],
    ["banana", undefined],
    ["", undefined],
    ["q", undefined],
    ["x".repeat(10_000), undefined],
  ])("corrects %j to %j", (typed, meant) => {
    expect(closestWord(typed, words)).toBe(meant);
  });

  it.each<[string, string[], string | undefined]>([
    // The beginning of a word, from three letters on.
    ["stat", ["status", "stop"], "status"],
    ["sta", ["status"], "status"],
    ["st", ["status"], undefined],
    ["sta", ["the-longest-status", "sta-of-all-the-words"], "sta-of-all-the-words"],
    ["tus", ["sta-of-all-tus"], undefined],
    // A beginning is one edit away, a word itself none.
    ["stat", ["status", "stat"], "stat"],
    ["stat", ["statuses", "stet"], "statuses"],
    ["stat", ["stet", "statuses"], "stet"],
    ["stats", ["status", "stats-of-all"], "status"],
    // One edit, and one more for each three letters of the longer word.
    ["modle", ["model"], "model"],
    ["abc", ["abd"], "abd"],
    ["abc", ["xyc"], undefined],
    ["abcde", ["abxye"], undefined],
    ["abcdef", ["abxyef"], "abxyef"],
    ["abcdef", ["axyzef"], undefined],
    ["abcdefghi", ["xyzdefghi"], "xyzdefghi"],
    ["bcdef", ["abcdef"], "abcdef"],
    ["cdef", ["abcdef"], "abcdef"],
    // A word of one or two letters is one edit away from everything.
    ["a", ["b"], undefined],
    ["a", ["ab"], undefined],
    ["a", ["A"], "A"],
    ["ab", ["ba"], "ba"],
    ["ab", ["xyb"], undefined],
    ["", ["a"], undefined],
    ["", [""], undefined],
    ["x".repeat(64), ["x".repeat(64)], "x".repeat(64)],
    ["x".repeat(65), ["x".repeat(65)], undefined],
    // The nearest, of equals the first.
    ["kitten", ["sitting", "mitten"], "mitten"],
    ["mitten", ["kitten", "bitten"], "kitten"],
    ["SAME", ["same", "sames"], "same"],
  ])("finds for %j in %j %j", (word, candidates, near) => {
    expect(closestWord(word, candidates)).toBe(near);
  });

  it("finds every word with one letter missing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.nat(), (word, where) => {
        const at = where % word.length;
        expect(closestWord(word.slice(0, at) + word.slice(at + 1), words)).toBe(word);
      }),
    );
  });
});
