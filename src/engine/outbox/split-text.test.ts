import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { splitText } from "./split-text.ts";

const squeezed = (text: string): string => text.replace(/\s/gu, "");

describe("splitText", () => {
  it("returns parts that fit and are not empty, and loses only the space between them", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(" ", "\n", "\n\n", "😀"), fc.string({ unit: "grapheme" })), {
          maxLength: 20,
        }),
        fc.integer({ min: 2, max: 12 }),
        (pieces, limit) => {
          const text = pieces.join("");
          const parts = splitText(text, limit);
          for (const part of parts) expect(part.length).toBeLessThanOrEqual(limit);
          if (text.trim() !== "") for (const part of parts) expect(part).not.toBe("");
          expect(squeezed(parts.join(""))).toBe(squeezed(text));
          expect(parts.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: tries(500) },
    );
  });

  it("never splits a character", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("😀", "a", " "), { maxLength: 30 }),
        fc.integer({ min: 2, max: 9 }),
        (pieces, limit) => {
          for (const part of splitText(pieces.join(""), limit)) expect(part.isWellFormed()).toBe(true);
        },
      ),
    );
  });

  for (const [text, limit, parts] of [
    ["short", 10, ["short"]],
    ["", 10, [""]],
    ["one two three", 8, ["one two", "three"]],
    ["para one\n\npara two", 12, ["para one", "para two"]],
    ["line one\nline two", 12, ["line one", "line two"]],
    ["abcdefghij", 4, ["abcd", "efgh", "ij"]],
    ["exactly ten", 11, ["exactly ten"]],
    // A place for a cut counts if it lies in the second half.
    ["ab cdef", 4, ["ab c", "def"]],
    ["abc defg", 5, ["abc", "defg"]],
    ["abcd efgh", 4, ["abcd", "efgh"]],
    ["abcdef", 3, ["abc", "def"]],
    ["abcd", 1, ["ab", "cd"]],
    ["     ", 3, [""]],
    ["ab      ", 3, ["ab"]],
    ["abc\u{10000}d", 4, ["abc", "\u{10000}d"]],
    ["abc\u{10ffff}d", 4, ["abc", "\u{10ffff}d"]],
    ["abc\ud7ffd", 4, ["abc\ud7ff", "d"]],
    ["abc\ue000d", 4, ["abc\ue000", "d"]],
  ] as const) {
    it(`${JSON.stringify(text)} at ${limit} is ${JSON.stringify(parts)}`, () => {
      expect(splitText(text, limit)).toEqual(parts);
    });
  }

  it("ends for any limit a channel states", () => {
    for (const limit of [0, -1, 1, Number.NaN]) expect(splitText("a😀 b", limit).join("").length).toBeGreaterThan(0);
  });
});
