import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { isQuiet, QUIET_HOURS } from "../../core/people/quiet-hours.ts";
import { holdWhileQuiet } from "./hold-while-quiet.ts";

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

describe("a delivery at night", () => {
  const held = (more: { humanAt?: number; last?: number; now?: string; zone?: string; hours?: string }) => {
    const record = { limits: { quietHours: more.hours ?? "22:00-07:00" }, timeZone: more.zone };
    const people = { personOf: (id: string) => id, record: (id: string) => (id === "ann" ? record : undefined) };
    return holdWhileQuiet({
      store: {
        run: async () => ({ body: { humanAt: more.humanAt } }) as never,
        agent: async () => ({ state: { lastInteractionAt: more.last } }) as never,
      },
      directory: { recent: async () => people as never },
      clock: { now: () => at(more.now ?? "23:00") },
      zone: () => "UTC",
    });
  };
  const to = (person: string) => ({ payload: { person }, agentId: "a", runId: "r" }) as never;

  it("that no one asked for is held", async () => {
    expect(await held({})(to("ann"))).toBeGreaterThan(0);
  });

  it.each([
    ["by day", { now: "12:00" }, "ann"],
    ["if it answers a message", { humanAt: 1 }, "ann"],
    ["if the person wrote there a moment ago", { last: at("22:55") }, "ann"],
    ["if it is day where the person lives", { zone: "America/Los_Angeles" }, "ann"],
    ["to someone without quiet hours", {}, "bob"],
  ] as const)("is not held %s", async (_, more, person) => {
    expect(await held(more)(to(person))).toBe(0);
  });
});
