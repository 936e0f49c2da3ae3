import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { isQuiet, QUIET_HOURS } from "../../core/people/quiet-hours.ts";

const at = (time: string): number => Date.parse(`2026-01-05T${time}:00Z`);
const two = (n: number): string => String(n).padStart(2, "0");

describe("quiet hours", () => {
  it.each([
    ["22:00-07:00", "23:00", true],
    ["22:00-07:00", "06:59", true],
    ["22:00-07:00", "07:00", false],
    ["22:00-07:00", "22:00", true],
    ["09:00-17:00", "12:00", true],
    ["09:00-17:00", "17:00", false],
    ["nonsense", "12:00", false],
  ])("%s at %s: %s", (hours, time, expected) => {
    expect(isQuiet(hours, at(time), "UTC")).toBe(expected);
  });

  it("are quiet as many minutes of a day as they say", () => {
    const minute = fc.integer({ min: 0, max: 1_439 });
    fc.assert(
      fc.property(minute, minute, (start, end) => {
        fc.pre(start !== end);
        const clock = (n: number): string => `${two(Math.floor(n / 60))}:${two(n % 60)}`;
        const hours = `${clock(start)}-${clock(end)}`;
        expect(QUIET_HOURS.test(hours)).toBe(true);
        const quiet = Array.from({ length: 1_440 }, (_, n) => isQuiet(hours, at("00:00") + n * 60_000, "UTC"));
        expect(quiet.filter(Boolean).length).toBe((end - start + 1_440) % 1_440);
      }),
      { numRuns: tries(20) },
    );
  });
});
