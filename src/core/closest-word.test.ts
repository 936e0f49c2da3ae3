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
  ])("counts the edits from %j to %j as %i", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  it("is the same in both directions and never more than the longer word", () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max([...a].length, [...b].length));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
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

  it("finds every word with one letter missing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...words), fc.nat(), (word, where) => {
        const at = where % word.length;
        expect(closestWord(word.slice(0, at) + word.slice(at + 1), words)).toBe(word);
      }),
    );
  });
});
