import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { startOfDay } from "../../core/zoned-time.ts";
import { midnightBefore } from "./midnight.ts";

const { TZ: before } = process.env;
afterEach(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

const instant = fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) });

describe("the beginning of a day", () => {
  it.each(["UTC", "Europe/Rome", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"])(
    "is the same with and without formats: %s",
    (zone) => {
      process.env.TZ = zone;
      fc.assert(
        fc.property(instant, (now) => {
          const expected = startOfDay(now, zone);
          expect(midnightBefore(now, zone)).toBe(expected);
          expect(midnightBefore(now, undefined)).toBe(expected);
        }),
      );
    },
  );

  it("is that of the zone which is named, not that of the machine", () => {
    process.env.TZ = "UTC";
    const now = Date.parse("2026-01-22T23:30:00Z");
    expect(new Date(midnightBefore(now, "Europe/Rome")).toISOString()).toBe("2026-01-22T23:00:00.000Z");
  });
});
