import { describe, expect, test } from "vitest";
import { leadingTime, timeOf } from "./read-time.ts";

/** A Monday, 09:30 in Berlin. */
const now = Date.parse("2026-01-05T08:30:00Z");
const read = (text: string, zone = "Europe/Berlin") => {
  const found = leadingTime(text, { now, zone });
  return found && [new Date(found.at).toISOString().replace(":00.000Z", "Z"), found.rest];
};

describe("reads a time at the beginning of a text", () => {
  test.each([
    ["20m tea", "2026-01-05T08:50Z", "tea"],
    ["+20m tea", "2026-01-05T08:50Z", "tea"],
    ["in 20m, drink  tea", "2026-01-05T08:50Z", "drink  tea"],
    ["in 20 minutes tea", "2026-01-05T08:50Z", "tea"],
    ["in an hour tea", "2026-01-05T09:30Z", "tea"],
    ["1h 30m tea", "2026-01-05T10:00Z", "tea"],
    ["2 hours and 10 min tea and cake", "2026-01-05T10:40Z", "tea and cake"],
    ["2h and then tea", "2026-01-05T10:30Z", "and then tea"],
    ["1.5h tea", "2026-01-05T10:00Z", "tea"],
    ["3 days tea", "2026-01-08T08:30Z", "tea"],
    ["2 weeks tea", "2026-01-19T08:30Z", "tea"],
    ["18:30 tea", "2026-01-05T17:30Z", "tea"],
    ["at 18:30 tea", "2026-01-05T17:30Z", "tea"],
    ["9:00 tea", "2026-01-06T08:00Z", "tea"],
    ["9:30 tea", "2026-01-06T08:30Z", "tea"],
    ["9pm tea", "2026-01-05T20:00Z", "tea"],
    ["9 pm tea", "2026-01-05T20:00Z", "tea"],
    ["12am tea", "2026-01-05T23:00Z", "tea"],
    ["12:15 pm tea", "2026-01-05T11:15Z", "tea"],
    ["today at 18:30 tea", "2026-01-05T17:30Z", "tea"],
    ["today 8:00 tea", "2026-01-05T07:00Z", "tea"],
    ["Tomorrow 9:00 call Ann", "2026-01-06T08:00Z", "call Ann"],
    ["monday 9am tea", "2026-01-12T08:00Z", "tea"],
    ["on monday at 10:00 tea", "2026-01-05T09:00Z", "tea"],
    ["friday 9:00 tea", "2026-01-09T08:00Z", "tea"],
    ["2026-07-31 09:00 tea", "2026-07-31T07:00Z", "tea"],
    ["2026-07-31T09:00 tea", "2026-07-31T07:00Z", "tea"],
    ["2026-07-31T09:00Z tea", "2026-07-31T09:00Z", "tea"],
    ["20m", "2026-01-05T08:50Z", ""],
  ])("%s", (text, at, rest) => {
    expect(read(text)).toEqual([at, rest]);
  });

  test("keeps the wall time over a change of the clocks", () => {
    expect(read("2026-03-29 9:00 tea")).toEqual(["2026-03-29T07:00Z", "tea"]);
  });

  test("takes the day of the zone", () => {
    expect(read("tomorrow 9:00 tea", "Pacific/Kiritimati")?.[0]).toBe("2026-01-05T19:00Z");
  });
});

test.each([
  ...["", "tea", "9 tea", "20 tea", "tomorrow tea", "25:00 tea", "9:61 tea", "13pm tea", "0am tea", "in tea", "at tea"],
  ...["2026-13-01 9:00 tea", "2026-13-01T09:00 tea", "20minutes tea", `${"9".repeat(300)}d tea`, "9999999 days tea"],
])("finds no time at the beginning of %j", (text) => {
  expect(read(text)).toBeUndefined();
});

test("reads a whole text as a time only if nothing follows it", () => {
  expect(timeOf("tomorrow 9:00", "UTC", now)).toBe(Date.parse("2026-01-06T09:00Z"));
  expect(timeOf("in 10m", "UTC", now)).toBe(now + 600_000);
  expect(() => timeOf("10m tea", "UTC", now)).toThrow('"10m tea" is not a time.');
});
