import "./page.test-kit.ts";
import { describe, expect, it } from "vitest";

const { bytes, count, duration, money, oneLine, pastTime, plainText, relativeTime } = await import("./format.ts");

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

describe("numbers and times", () => {
  it.each([
    [-5, "0 ms"],
    [999.6, "1.0 s"],
    [1_000, "1.0 s"],
    [9_960, "10 s"],
    [59_499, "59 s"],
    [59_500, "1 min 0 s"],
    [119_700, "2 min 0 s"],
    [HOUR - 1, "1 h 0 min"],
    [2 * HOUR - 20 * SECOND, "2 h 0 min"],
    [DAY - SECOND, "1 d 0 h"],
    [2 * DAY - MINUTE, "2 d 0 h"],
    [DAY + 5 * HOUR, "1 d 5 h"],
  ])("shows the duration %d as %s", (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [-2_000, "just now"],
    [2_000, "in a moment"],
    [-MINUTE, "1m ago"],
    [2 * HOUR, "in 2h"],
    [-DAY, "yesterday"],
  ])("shows what is %d ms away as %s", (ms, text) => expect(relativeTime(1e12 + ms, 1e12)).toBe(text));

  it("never shows a past event in the future, though the clock of the server is ahead", () => {
    expect([2_000, 3 * MINUTE, DAY].map((ms) => pastTime(1e12 + ms, 1e12))).toEqual(Array(3).fill("just now"));
    expect(pastTime(1e12 - MINUTE, 1e12)).toBe("1m ago");
  });

  it("shows sizes, counts and money in their largest unit", () => {
    expect([999, 999_499, 999_500, 999_949_999, 999_950_000].map(bytes)).toEqual([
      ...["999 B", "999 KB", "1.0 MB", "999.9 MB", "1.0 GB"],
    ]);
    expect([9_999, 12_345].map(count)).toEqual(["9,999", "12.3K"]);
    expect([0, 0.001, 1.5].map(money)).toEqual(["$0", "$0.0010", "$1.50"]);
  });

  it("shows a text as a line without control characters, and cuts no character in half", () => {
    expect(plainText("a\u001b[31mb\u0007\tc\n")).toBe("ab\tc\n");
    expect(oneLine("  a\n\n b ", 10)).toBe("a b");
    expect(oneLine("abc😀def", 5)).toBe("abc…");
    expect(oneLine("abcdef", 6)).toBe("abcdef");
  });
});
