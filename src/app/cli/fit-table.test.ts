import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitTable } from "./fit-table.ts";
import { durationText, relativeTime } from "./relative-time.ts";

describe("a table", () => {
  it("fits the terminal if its columns can, and cuts nothing in a pipe", () => {
    const row = fc.array(fc.string({ maxLength: 60 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 30, max: 200 }), (rows, width) => {
        const lines = fitTable(["a", "b", "c"], rows, { width }).split("\n");
        expect(lines).toHaveLength(rows.length + 1);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
    expect(fitTable(["name"], [["x".repeat(500)]])).toContain("x".repeat(500));
  });
});

describe("a time", () => {
  const now = 1_800_000_000_000;
  it.each([
    [now, "now"],
    [now - 5_000, "5 s ago"],
    [now - 3 * 60_000, "3 min ago"],
    [now + 2 * 3_600_000, "in 2 h"],
    [now - 86_400_000, "1 day ago"],
    [now - 400 * 86_400_000, "13 months ago"],
    [now - 3 * 365 * 86_400_000, "3 years ago"],
    [undefined, "–"],
  ])("%s is %s", (at, text) => expect(relativeTime(at, now)).toBe(text));

  it("has a length", () => expect(durationText(90_000)).toBe("2 min"));
});
