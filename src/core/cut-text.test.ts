import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, shortened } from "./cut-text.ts";

const FAMILY = "👨‍👩‍👧‍👦";

describe("cutText", () => {
  it.each([
    ["a short text", "abc", 5, "abc"],
    ["plain letters", "abcdef", 3, "abc"],
    ["an emoji of two units", "ab😀cd", 3, "ab"],
    ["a family of seven code points", `a${FAMILY}b`, 5, "a"],
    ["a letter with an accent of its own", "e\u0301e\u0301", 3, "e\u0301"],
    ["a line end of two characters", "a\r\nb", 2, "a"],
    ["nothing left", "😀", 0, ""],
  ])("keeps %s whole", (_, text, max, expected) => {
    expect(cutText(text, max)).toBe(expected);
  });

  it("returns a well-formed beginning of the text that is at most 64 units shorter than it could be", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), fc.nat(400), (text, max) => {
        const cut = cutText(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(cut.isWellFormed()).toBe(text.isWellFormed());
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, max) - 64);
      }),
    );
  });

  /** One character of `length` units: a letter with accents of its own. */
  const cluster = (length: number): string => `e${"\u0301".repeat(length - 1)}`;

  it.each([
    ["of 64 units that begins 63 before the limit", `a${cluster(64)}`, 64, 1],
    ["that begins 63 before the limit, far into the text", `${"a".repeat(500)}${cluster(300)}`, 563, 500],
    ["that begins 64 before the limit", `${"a".repeat(500)}${cluster(300)}`, 564, 564],
    ["that begins with the text", cluster(300), 10, 10],
    ["that has no end", cluster(1_000), 500, 500],
    ["that ends at the limit", `${cluster(64)}b`, 64, 64],
  ])("a cluster %s", (_, text, max, length) => {
    expect(cutText(text, max)).toHaveLength(length);
  });

  it.each([
    ["of which half is left, is left out", `${"\u{1f3fb}".repeat(400)}`, 501, 500],
    ["that is whole stays", `${"\u{1f3fb}".repeat(400)}`, 500, 500],
    ["in a text that begins with it", "\u{1f600}", 1, 0],
    ["with the lowest second half", "\u{10000}", 1, 0],
    ["with the highest second half", "\u{103ff}", 1, 0],
    ["of one half above those", `e${"\ufe0f".repeat(400)}`, 200, 200],
  ])("a code point in a long cluster %s", (_, text, max, length) => {
    expect(cutText(text, max)).toHaveLength(length);
  });

  it("a limit below zero is none", () => {
    expect(cutText("abc", -1)).toBe("");
  });
});

describe("shortened", () => {
  it.each([
    ["abc", 3, "abc"],
    ["abc", 4, "abc"],
    ["abcd", 3, "ab…"],
    ["ab cd", 4, "ab…"],
    ["ab  cd", 5, "ab…"],
    ["a\u{1f600}b", 3, "a…"],
    ["", 0, ""],
  ])("%j to %d is %j", (text, max, expected) => {
    expect(shortened(text, max)).toBe(expected);
  });
});
