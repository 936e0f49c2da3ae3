import { describe, expect, it } from "vitest";
import { InvalidInputError } from "./errors.ts";
import { oneStop, sentence } from "./sentence.ts";

describe("sentences", () => {
  it.each([
    ["It failed: no room..", "It failed: no room."],
    ["It failed: no room.. Try again..", "It failed: no room. Try again."],
    ["wait...", "wait..."],
    ["cd .. and ls ..", "cd .. and ls .."],
    ["a/b/..", "a/b/.."],
  ])("%j has one full stop", (text, expected) => {
    expect(oneStop(text)).toBe(expected);
    expect(new InvalidInputError(text, { hint: text })).toMatchObject({ message: expected, hint: expected });
  });

  it.each([
    ["unknown job: x", "unknown job: x."],
    ["Is it?", "Is it?"],
    ["Run `x`", "Run `x`"],
    ["", ""],
  ])("%j ends", (text, expected) => expect(sentence(text)).toBe(expected));
});
