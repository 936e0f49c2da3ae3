import { describe, expect, test, vi } from "vitest";
import { assertZone, hostZone, startOfDay, wallInstant, zonedFields, zonedInstant } from "./zoned-time.ts";

const at = (text: string): number => Date.parse(text);

test("the fields of an instant are those of a clock in its zone", () => {
  expect(zonedFields(at("2026-01-31T23:30:15Z"), "Europe/Berlin")).toEqual({
    ...{ year: 2026, month: 2, day: 1, hour: 0, minute: 30, second: 15 },
    weekday: "Sunday",
  });
  expect(zonedFields(at("2026-07-01T00:05:00Z"), "America/New_York")).toMatchObject({ month: 6, day: 30, hour: 20 });
});

describe("zonedInstant", () => {
  test.each([
    ["winter", [2026, 1, 15, 9, "Europe/Berlin"], "2026-01-15T08:00:00Z"],
    ["summer", [2026, 7, 15, 9, "Europe/Berlin"], "2026-07-15T07:00:00Z"],
    ["the day before the first", [2026, 3, 0, 0, "UTC"], "2026-02-28T00:00:00Z"],
    ["an hour that comes twice: the first one", [2026, 10, 25, 2, "Europe/Berlin"], "2026-10-25T00:00:00Z"],
    ["after the hour that comes twice", [2026, 10, 25, 3, "Europe/Berlin"], "2026-10-25T02:00:00Z"],
    ["before the hour that comes twice", [2026, 10, 25, 1, "Europe/Berlin"], "2026-10-24T23:00:00Z"],
    ["a skipped hour: the jump", [2026, 3, 29, 2, "Europe/Berlin"], "2026-03-29T01:00:00Z"],
    ["after the skipped hour", [2026, 3, 29, 3, "Europe/Berlin"], "2026-03-29T01:00:00Z"],
    ["before the skipped hour", [2026, 3, 29, 1, "Europe/Berlin"], "2026-03-29T00:00:00Z"],
    ["far east", [2026, 1, 1, 0, "Pacific/Kiritimati"], "2025-12-31T10:00:00Z"],
    ["half an hour", [2026, 1, 1, 0, "Asia/Kolkata"], "2025-12-31T18:30:00Z"],
  ] as const)("%s", (_title, [year, month, day, hour, zone], expected) => {
    expect(new Date(zonedInstant(year, month, day, hour, zone)).toISOString()).toBe(expected.replace("Z", ".000Z"));
  });
});

test("fractions of a second and times before 1970 keep their place", () => {
  expect(wallInstant(at("2026-01-01T00:00:00.250Z"), "Europe/Berlin")).toBe(at("2025-12-31T23:00:00.250Z"));
  expect(wallInstant(-1, "UTC")).toBe(-1);
});

test.each([
  ["Europe/Berln", 'Did you mean "Europe/Berlin"?'],
  ["new york", 'Did you mean "America/New_York"?'],
  ["Nowhere At All Really", 'Zones have names such as "Europe/Berlin" or "UTC".'],
])("an unknown zone %s is refused with a hint", (zone, hint) => {
  const whole = hint.startsWith("Did") ? `${hint} Zones have names such as "Europe/Berlin" or "UTC".` : hint;
  expect(() => assertZone(zone)).toThrow(
    expect.objectContaining({ hint: whole, message: `Unknown time zone "${zone}".` }) as Error,
  );
});

test("a known zone and the zone of the machine are accepted", () => {
  assertZone("UTC");
  assertZone(hostZone());
});

test.each([
  ["2026-01-15T12:34:56.789Z", "UTC", "2026-01-15T00:00:00Z"],
  ["2026-01-15T00:00:00Z", "UTC", "2026-01-15T00:00:00Z"],
  ["2026-01-14T23:59:59.999Z", "UTC", "2026-01-14T00:00:00Z"],
  ["2026-01-15T23:30:00Z", "Europe/Berlin", "2026-01-15T23:00:00Z"],
  ["2026-01-15T22:59:00Z", "Europe/Berlin", "2026-01-14T23:00:00Z"],
  ["2026-03-29T12:00:00Z", "Europe/Berlin", "2026-03-28T23:00:00Z"],
  ["2026-10-25T12:00:00Z", "Europe/Berlin", "2026-10-24T22:00:00Z"],
  // Midnight is skipped: the day begins at one.
  ["2026-04-24T12:00:00Z", "Africa/Cairo", "2026-04-23T22:00:00Z"],
])("the day of %s in %s begins at %s", (when, zone, start) => {
  expect(startOfDay(at(when), zone)).toBe(at(start));
});

test("the format of a zone is made once, and none for a name that is known", async () => {
  vi.resetModules();
  const fresh = await import("./zoned-time.ts");
  const made = vi.spyOn(Intl, "DateTimeFormat");
  try {
    fresh.assertZone("Asia/Tokyo");
    expect(made).not.toHaveBeenCalled();
    const moment = at("2026-02-03T04:05:06Z");
    const fields = { ...{ year: 2026, month: 2, day: 3, hour: 13, minute: 5, second: 6 }, weekday: "Tuesday" };
    expect(fresh.zonedFields(moment, "Asia/Tokyo")).toEqual(fields);
    expect(fresh.zonedFields(moment, "Asia/Tokyo")).toEqual(fields);
    expect(made).toHaveBeenCalledOnce();
    expect(fresh.hostZone()).toBe(fresh.hostZone());
    expect(made).toHaveBeenCalledTimes(2);
  } finally {
    made.mockRestore();
  }
});
