import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText } from "./cut-text.ts";

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

  it("cuts a cluster that has no end between two code points", () => {
    expect(cutText(`e${"\u0301".repeat(1_000)}`, 500)).toHaveLength(500);
  });
});
