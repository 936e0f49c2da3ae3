import { expect, test } from "vitest";
import { isQuiet } from "./quiet-hours.ts";

test.each([
  ["22:00-07:00", "21:59", false],
  ["22:00-07:00", "22:00", true],
  ["22:00-07:00", "23:59", true],
  ["22:00-07:00", "00:00", true],
  ["22:00-07:00", "06:59", true],
  ["22:00-07:00", "07:00", false],
  ["12:30-13:15", "12:29", false],
  ["12:30-13:15", "12:30", true],
  ["12:30-13:15", "13:14", true],
  ["12:30-13:15", "13:15", false],
  // The same twice is the whole day.
  ["08:00-08:00", "07:59", true],
  ["08:00-08:00", "12:00", true],
  // Hours that are none disturb no one's silence.
  ["24:00-07:00", "01:00", false],
  ["22:00", "23:00", false],
])("with quiet hours %s it is quiet at %s: %s", (hours, time, quiet) => {
  expect(isQuiet(hours, Date.parse(`2026-01-15T${time}:30Z`), "UTC")).toBe(quiet);
});

test("the hours are those of the person's zone", () => {
  const at = Date.parse("2026-01-15T21:30:00Z");
  expect(isQuiet("22:00-07:00", at, "UTC")).toBe(false);
  expect(isQuiet("22:00-07:00", at, "Europe/Berlin")).toBe(true);
});
