import { describe, expect, test } from "vitest";
import { isWithinActiveHours } from "./active-hours.ts";

/** In UTC, on a day without a change of clocks. */
const at = (time: string): number => Date.parse(`2026-03-10T${time}:00Z`);
const UTC = { user: "UTC", host: "UTC" };
const inside = (hours: object, time: string, zones = UTC): boolean => isWithinActiveHours(hours, at(time), zones);

describe("the active hours", () => {
  test.each([
    ["08:59", "17:15", "08:58", false],
    ["09:30", "17:15", "09:29", false],
    ["09:30", "17:15", "09:30", true],
    ["09:30", "17:15", "17:14", true],
    ["09:30", "17:15", "17:15", false],
    ["22:00", "06:00", "21:59", false],
    ["22:00", "06:00", "22:00", true],
    ["22:00", "06:00", "00:00", true],
    ["22:00", "06:00", "05:59", true],
    ["22:00", "06:00", "06:00", false],
    ["08:00", undefined, "07:59", false],
    ["08:00", undefined, "23:59", true],
    [undefined, "08:00", "00:00", true],
    [undefined, "08:00", "08:00", false],
    [" 09:00 ", "24:00", "23:59", true],
    [" 09:00 ", " 17:00 ", "08:59", false],
    ["09:00", "24:00", "08:59", false],
  ])("from %s to %s, at %s: %s", (start, end, time, wanted) => {
    expect(inside({ start, end }, time)).toBe(wanted);
  });

  test.each([
    ["none", undefined],
    ["equal", { start: "09:00", end: "09:00" }],
    ["no times", { start: "morning", end: "17:00" }],
    ["an end that is no time", { start: "09:00", end: "5pm" }],
    ["a minute that does not exist", { start: "09:60", end: "17:00" }],
    ["a time after the end of the day", { start: "09:00", end: "24:01" }],
    ["a start at the end of the day", { start: "24:00", end: "05:00" }],
    ["text around a time", { start: "x09:00", end: "17:00y" }],
  ])("that say %s mean always", (_what, hours) => {
    expect(isWithinActiveHours(hours, at("03:00"), UTC)).toBe(true);
    expect(isWithinActiveHours(hours, at("12:00"), UTC)).toBe(true);
  });

  test.each([
    [undefined, { user: "Asia/Tokyo", host: "UTC" }, true],
    ["user", { user: "Asia/Tokyo", host: "UTC" }, true],
    [" ", { user: "Asia/Tokyo", host: "UTC" }, true],
    ["user", { host: "Asia/Tokyo" }, true],
    ["local", { user: "Asia/Tokyo", host: "UTC" }, false],
    ["Asia/Tokyo", UTC, true],
    ["UTC", { user: "Asia/Tokyo", host: "Asia/Tokyo" }, false],
    ["Nowhere/Town", { user: "Asia/Tokyo", host: "UTC" }, true],
    ["Nowhere/Town", { host: "Asia/Tokyo" }, true],
  ])("in the zone %s of %j are those of that zone", (timezone, zones, wanted) => {
    // 01:00 in UTC is 10:00 in Tokyo.
    expect(isWithinActiveHours({ start: "09:00", end: "17:00", timezone }, at("01:00"), zones)).toBe(wanted);
  });
});
