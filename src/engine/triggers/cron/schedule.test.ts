import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { tries } from "../../../../test/kit/share.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { CronSchedule } from "../../../core/schedule/job.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { describeSchedule } from "./describe-schedule.ts";
import { checkSchedule, computeNextRunAtMs, nextRunTimes } from "./schedule.ts";

const cron = (expr: string, tz = "UTC"): CronSchedule => ({ kind: "cron", expr, tz });
const times = (schedule: CronSchedule, from: string, count: number): string[] =>
  nextRunTimes(schedule, Date.parse(from), count).map((at) => new Date(at).toISOString().replace(".000Z", "Z"));

describe("clock changes in five zones", () => {
  // A skipped fixed time runs right after the jump; a repeated one runs the first time.
  test.each([
    ["Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]],
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]],
    ["America/New_York", "30 2 * * *", "2026-03-08T05:00Z", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]],
    ["America/New_York", "30 1 * * *", "2026-11-01T04:00Z", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00Z", ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]],
    ["Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00Z", ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]],
    ["America/Santiago", "0 0 * * *", "2026-09-05T05:00Z", ["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"]],
    ["America/Santiago", "30 23 * * *", "2026-04-04T12:00Z", ["2026-04-05T02:30:00Z", "2026-04-06T03:30:00Z"]],
    ["Asia/Kolkata", "30 2 * * *", "2026-03-28T12:00Z", ["2026-03-28T21:00:00Z", "2026-03-29T21:00:00Z"]],
  ])("%s: %s", (zone, expr, from, expected) => {
    expect(times(cron(expr, zone), from, 2)).toEqual(expected);
  });

  // A schedule with steps, ranges or lists runs through the repeated hour and skips the missing one.
  test.each([
    ["Europe/Berlin", "*/30 * * * *", "2026-10-24T23:50Z", ["00:00", "00:30", "01:00", "01:30", "02:00"]],
    ["Europe/Berlin", "*/30 * * * *", "2026-03-29T00:10Z", ["00:30", "01:00", "01:30", "02:00"]],
    ["America/New_York", "15 1,2 * * *", "2026-11-01T04:00Z", ["05:15", "06:15", "07:15"]],
    ["America/New_York", "15 1,2 * * *", "2026-03-08T05:00Z", ["06:15", "05:15", "06:15"]],
    ["Australia/Lord_Howe", "*/20 * * * *", "2026-04-04T14:30Z", ["14:40", "15:10", "15:30", "15:50"]],
  ])("%s: %s", (zone, expr, from, expected) => {
    expect(times(cron(expr, zone), from, expected.length).map((time) => time.slice(11, 16))).toEqual(expected);
  });
});

test.each([
  ["29 February", "0 12 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"]],
  ["the 31st", "0 0 31 * *", "2026-01-31T00:00Z", ["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]],
  ["the last day", "0 0 L * *", "2026-01-31T12:00Z", ["2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"]],
  ["the last day of a leap year", "0 0 L 2 *", "2028-01-01T00:00Z", ["2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"]],
  ["weekday 7", "0 9 * * 7", "2026-01-05T00:00Z", ["2026-01-11T09:00:00Z", "2026-01-18T09:00:00Z"]],
  ["weekday 0", "0 9 * * 0", "2026-01-05T00:00Z", ["2026-01-11T09:00:00Z", "2026-01-18T09:00:00Z"]],
  ["the year's end", "0 0 1 1 *", "2026-12-31T23:59Z", ["2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"]],
  ["day of month or weekday", "0 0 13 * 5", "2026-02-01T00:00Z", ["2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"]],
  ["a range with a step", "1-10/2 0 * * *", "2026-01-01T00:00Z", ["2026-01-01T00:01:00Z", "2026-01-01T00:03:00Z"]],
  ["seconds", "*/20 * * * * *", "2026-01-01T00:00Z", ["2026-01-01T00:00:20Z", "2026-01-01T00:00:40Z"]],
  ["a nickname", "@daily", "2026-01-01T00:00Z", ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]],
])("a cron expression supports %s", (_, expr, from, expected) => {
  expect(times(cron(expr), from, 2)).toEqual(expected);
});

test.each(["5abc * * * *", "* * *", "", "60 * * * *", "* * * * * * *", "2030-01-01T00:00:00", "* 24 * * *", "@reboot"])(
  "%j is refused with a hint",
  (expr) => {
    expect(() => computeNextRunAtMs(cron(expr), 0)).toThrow(`Invalid cron schedule: ${expr}`);
    expect(() => computeNextRunAtMs(cron(expr), 0)).toThrow(InvalidInputError);
  },
);

test("an unknown zone is refused by its name", () => {
  expect(() => computeNextRunAtMs(cron("* * * * *", "Mars/Base"), 0)).toThrow("Mars/Base");
});

test("an expression is read in its own zone, then in the one that is given, then in that of the machine", () => {
  const nine = (tz: string | undefined, zone?: string) =>
    computeNextRunAtMs({ kind: "cron", expr: " 0 9 * * * ", tz }, Date.parse("2026-06-15T00:00Z"), zone);
  expect(nine("Asia/Tokyo", "Europe/Berlin")).toBe(Date.parse("2026-06-16T00:00Z"));
  expect(nine(undefined, "Europe/Berlin")).toBe(Date.parse("2026-06-15T07:00Z"));
  expect(nine(undefined)).toBe(nine(hostZone()));
  expect(computeNextRunAtMs(cron(" @daily "), 0)).toBe(86_400_000);
});

/** Parsed expressions are kept, so each use of a test needs new ones. */
let used = 0;
const unused = (): string => {
  used += 1;
  return `${used % 60} ${Math.floor(used / 60) % 24}`;
};

test.each([
  ["spaces around it", (time: string) => ` ${time} * * * `],
  ["several spaces inside", (time: string) => `${time}  *   *\t*`],
  ["seconds", (time: string) => `0 ${time} * * *`],
])("an expression may have %s", (_what, expr) => {
  const time = unused();
  const from = Date.parse("2026-06-15T00:00Z");
  expect(computeNextRunAtMs(cron(expr(time)), from)).toBe(computeNextRunAtMs(cron(`${time} * * *`), from));
});

test.each([
  ["four fields", (time: string) => `${time} * *`],
  ["seven fields", (time: string) => `0 ${time} * * * *`],
  ["a date", (time: string) => `2030-01-01T00:00:${time.split(" ")[0]?.padStart(2, "0")}`],
  ["a nickname with more", (time: string) => `@daily ${time}`],
  ["a field that is too large", (time: string) => `${time} * * 9`],
])("an expression of %s is refused with its cause", (_what, expr) => {
  const text = expr(unused());
  expect(() => computeNextRunAtMs(cron(text), 0)).toThrow(`Invalid cron schedule: ${text}`);
});

test("the next times end with the last one, and are as many as asked for", () => {
  expect(nextRunTimes({ kind: "at", atMs: 5 }, 0, 3)).toEqual([5]);
  expect(nextRunTimes({ kind: "at", atMs: 5 }, 5, 3)).toEqual([]);
  expect(nextRunTimes({ kind: "every", everyMs: 10, anchorMs: 0 }, 0, 3)).toEqual([10, 20, 30]);
  expect(nextRunTimes(cron("* * * * *"), 0, 0)).toEqual([]);
});

test("an invalid expression is refused each time, and a check passes one with a due time", () => {
  for (let n = 0; n < 2; n++) expect(() => checkSchedule(cron("61 * * * *"), 0)).toThrow("Invalid cron schedule");
  expect(() => checkSchedule(cron("0 9 * * *"), 0)).not.toThrow();
  expect(() => checkSchedule({ kind: "at", atMs: 5 }, 4)).not.toThrow();
  expect(() => checkSchedule(cron("0 0 31 2 *"), 0)).toThrow("This schedule has no due time in the future.");
});

test("a schedule without a future due time has no next time and is refused", () => {
  expect(computeNextRunAtMs(cron("0 0 31 2 *"), 0)).toBeUndefined();
  expect(computeNextRunAtMs({ kind: "at", atMs: 5 }, 5)).toBeUndefined();
  expect(() => checkSchedule({ kind: "at", atMs: 5 }, 6)).toThrow("That time is in the past");
});

describe("an interval", () => {
  it("is anchored: before the anchor the anchor is due, at a multiple the next one", () => {
    const every: CronSchedule = { kind: "every", everyMs: 100, anchorMs: 1_000 };
    expect(computeNextRunAtMs(every, 10)).toBe(1_000);
    expect(computeNextRunAtMs(every, 1_000)).toBe(1_100);
    expect(computeNextRunAtMs(every, 1_099)).toBe(1_100);
    expect(computeNextRunAtMs({ kind: "every", everyMs: 100 }, 7)).toBe(107);
  });
});

test("every due time is later than now, and is the same when computed from just before it", () => {
  const schedule = fc.oneof(
    fc.record({ kind: fc.constant("at" as const), atMs: fc.integer({ min: 0, max: 4e12 }) }),
    fc.record({
      kind: fc.constant("every" as const),
      everyMs: fc.integer({ min: 1, max: 1e9 }),
      anchorMs: fc.integer({ min: 0, max: 4e12 }),
    }),
    fc.record({
      kind: fc.constant("cron" as const),
      expr: fc.constantFrom(
        "* * * * *",
        "*/7 * * * *",
        "0 2 * * *",
        "30 1 * * 1-5",
        "0 0 29 2 *",
        "0 0 L * *",
        "15 1,2 * * *",
      ),
      tz: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago"),
    }),
  );
  fc.assert(
    fc.property(schedule, fc.integer({ min: 0, max: 4e12 }), (one, now) => {
      const next = computeNextRunAtMs(one, now);
      if (next === undefined) return one.kind === "at" && one.atMs <= now;
      return (
        next > now && (one.kind === "every" && now >= next - 1 ? true : computeNextRunAtMs(one, next - 1) === next)
      );
    }),
    { numRuns: tries(200) },
  );
});

test.each([
  [{ kind: "every", everyMs: 1_800_000 }, "Every 30 minutes"],
  [{ kind: "every", everyMs: 60_000 }, "Every minute"],
  [{ kind: "every", everyMs: 90_000 }, "Every 90 seconds"],
  [{ kind: "at", atMs: 0 }, "Once, on 1970-01-01 00:00:00 (UTC)"],
  [cron("* * * * *"), "Every minute (UTC)"],
  [cron("*/5 * * * *"), "Every 5 minutes (UTC)"],
  [cron("0 9 * * 1-5", "Europe/Berlin"), "At 09:00 on Monday to Friday (Europe/Berlin)"],
  [cron("30 8,20 * * *"), "At 08:30 and 20:30 (UTC)"],
  [cron("0 0 1 1 *"), "At 00:00 on day 1 in January (UTC)"],
  [cron("0 12 * * 7"), "At 12:00 on Sunday (UTC)"],
  [cron("0 0 L * *"), "At 00:00 on the last day of the month (UTC)"],
  [cron("5 * * * *"), "At minute 5 of every hour (UTC)"],
  [cron("*/20 * * * * *"), "Every 20 seconds (UTC)"],
  [cron("@weekly"), "At 00:00 on Sunday (UTC)"],
  [cron("0 0 15W * *"), 'By the cron expression "0 0 15W * *" (UTC)'],
] as const)("%j reads as a sentence", (schedule, sentence) => {
  expect(describeSchedule(schedule as CronSchedule, "UTC")).toBe(sentence);
});
