import { describe, expect, test } from "vitest";
import type { CronJob, MissedPolicy } from "../../../core/schedule/job.ts";
import { staggerOf } from "../../../core/schedule/job-times.ts";
import { type DueDefaults, type DueStep, planDue, range } from "./plan-due.ts";
import { computeNextRunAtMs } from "./schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse("2026-01-01T00:00:30Z");

const jobOf = (schedule: CronJob["schedule"], rest: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "j",
  enabled: true,
  createdAtMs: START,
  updatedAtMs: START,
  schedule,
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "" },
  state: { nextRunAtMs: computeNextRunAtMs(schedule, START) },
  ...rest,
});

/** Takes every step that is due now, as the broker does. */
function steps(job: CronJob, now: number): { job: CronJob; taken: DueStep[] } {
  const taken: DueStep[] = [];
  let after = job;
  for (let step = planDue(after, now, { missed: "once" }); step; step = planDue(after, now, { missed: "once" })) {
    taken.push(step);
    after = { ...after, state: { ...after.state, nextRunAtMs: step.nextAt } };
  }
  return { job: after, taken };
}

const SCHEDULES: readonly CronJob["schedule"][] = [
  { kind: "every", everyMs: 7 * MINUTE, anchorMs: START },
  { kind: "cron", expr: "5 */3 * * *", tz: "UTC" },
  { kind: "cron", expr: "30 2 * * *", tz: "Europe/Berlin" },
  { kind: "cron", expr: "15 1,2 * * *", tz: "America/New_York" },
  { kind: "cron", expr: "0 9 29 2 *", tz: "UTC" },
  { kind: "cron", expr: "0 0 31 * *", tz: "Australia/Lord_Howe" },
  { kind: "cron", expr: "0 12 * * 7", tz: "America/Santiago" },
  { kind: "at", atMs: START + 100 * DAY },
];

const counted = new Map<CronJob["schedule"], number>();
/** How many due times the year has. It is the same under each policy, so it is counted once. */
function dueUntil(schedule: CronJob["schedule"], until: number): number {
  let due = counted.get(schedule) ?? 0;
  if (due > 0) return due;
  for (let at = computeNextRunAtMs(schedule, START); at !== undefined && at <= until; due++)
    at = computeNextRunAtMs(schedule, at);
  counted.set(schedule, due);
  return due;
}

test.each(["skip", "once", "all"] as const)(
  "a year of schedules under %s with regular polls and gaps covers every due time once",
  (missed: MissedPolicy) => {
    for (const schedule of SCHEDULES) {
      let job = jobOf(schedule, { missed });
      const all: DueStep[] = [];
      let now = START;
      // Polled each hour, with downtimes of a minute, a day and a month, and a clock that goes back.
      for (let hour = 0; now < START + 366 * DAY; hour++) {
        now +=
          hour % 1_000 === 500
            ? 30 * DAY
            : hour % 300 === 100
              ? DAY
              : hour % 50 === 20
                ? -HOUR
                : hour % 50 === 30
                  ? 2 * HOUR
                  : HOUR;
        const { job: after, taken } = steps(job, now);
        all.push(...taken);
        job = after;
      }
      const due = dueUntil(schedule, now);
      const covered = all.reduce((sum, step) => sum + (step.kind === "skip" ? step.count : 1), 0);
      expect(covered, JSON.stringify(schedule)).toBe(due);
      // Each step begins where the one before it ended.
      expect(all.slice(1).map(({ dueAt }) => dueAt)).toEqual(all.slice(0, -1).map(({ nextAt }) => nextAt));
      if (missed === "all") expect(all.every(({ kind }) => kind === "fire")).toBe(true);
    }
  },
);

test.each([
  // policy, downtime, limit → steps
  ["skip", 90 * MINUTE, undefined, ["skip 8 missed", "fire"]],
  ["skip", 95 * MINUTE, undefined, ["skip 8 missed", "skip 1 missed"]],
  ["once", 95 * MINUTE, undefined, ["skip 8 missed", "fire"]],
  ["once", 95 * MINUTE, 4 * MINUTE, ["skip 8 missed", "skip 1 too late"]],
  ["all", 35 * MINUTE, undefined, ["fire", "fire", "fire"]],
  ["all", 95 * MINUTE, 20 * MINUTE, ["skip 7 too late", "fire", "fire"]],
  ["once", 5 * MINUTE, undefined, []],
  ["once", 10 * MINUTE, undefined, ["fire"]],
] as const)("plans policy %s after %i ms of downtime with the limit %s", (missed, gap, maxLatenessMs, expected) => {
  const schedule = { kind: "every", everyMs: 10 * MINUTE, anchorMs: START } as const;
  const job = jobOf(schedule, { missed, maxLatenessMs });
  const { taken } = steps(job, START + gap);
  expect(taken.map((step) => (step.kind === "fire" ? "fire" : `skip ${step.count} ${step.reason}`))).toEqual(expected);
});

test("a month of missed seconds is one row", () => {
  const job = jobOf({ kind: "every", everyMs: 1_000, anchorMs: START });
  const { taken } = steps(job, START + 30 * DAY);
  expect(taken).toMatchObject([{ kind: "skip", count: 30 * 86_400 - 1 }, { kind: "fire" }]);
});

test("missed minutes of an expression are covered in batches", () => {
  const { taken } = steps(jobOf({ kind: "cron", expr: "* * * * *", tz: "UTC" }), START + DAY);
  expect(taken.at(-1)?.kind).toBe("fire");
  expect(taken.slice(0, -1).every((step) => step.kind === "skip" && step.count <= 500)).toBe(true);
  expect(taken.reduce((sum, step) => sum + (step.kind === "skip" ? step.count : 1), 0)).toBe(1_440);
});

test.each([
  [undefined, 60_000, "fire"],
  [undefined, 60_001, "skip"],
  [0, 0, "fire"],
  [0, 1, "skip"],
  [3_600_000, 3_600_000, "fire"],
  [3_600_000, 3_600_001, "skip"],
])("under skip, with a grace of %s ms, a due time handled %s ms late: %s", (graceMs, late, kind) => {
  const job = jobOf({ kind: "every", everyMs: 24 * HOUR, anchorMs: START }, { state: { nextRunAtMs: START } });
  expect(planDue(job, START + late, { missed: "skip", graceMs })).toMatchObject({ kind });
});

test("due times during a backoff are skipped with that reason", () => {
  const schedule = { kind: "every", everyMs: MINUTE, anchorMs: START } as const;
  const job = jobOf(schedule, { state: { nextRunAtMs: START + MINUTE, backoffUntilMs: START + 5 * MINUTE } });
  expect(planDue(job, START + 5 * MINUTE, { missed: "once" })).toMatchObject({
    kind: "skip",
    reason: "backoff",
    count: 4,
  });
});

test("staggered jobs fire at different offsets after the due time, and the slot keeps the due time", () => {
  const schedule = { kind: "every", everyMs: HOUR, anchorMs: START } as const;
  const places = Array.from({ length: 200 }, (_, n) => staggerOf({ id: `job ${n}`, staggerMs: 10 * MINUTE }));
  expect(new Set(places).size).toBeGreaterThan(150);
  expect(Math.max(...places)).toBeLessThan(10 * MINUTE);
  const job = jobOf(schedule, { staggerMs: 10 * MINUTE });
  const place = staggerOf(job);
  expect(planDue(job, START + HOUR + place - 1, { missed: "once" })).toBeUndefined();
  expect(planDue(job, START + HOUR + place, { missed: "once" })).toMatchObject({
    kind: "fire",
    dueAt: START + HOUR,
    lateMs: 0,
  });
});

describe("a job is due", () => {
  const hourly = (more: Partial<CronJob> = {}) => jobOf({ kind: "every", everyMs: HOUR, anchorMs: START }, more);
  const stepOf = (more: Partial<CronJob>, late: number, defaults: Partial<DueDefaults> = {}) => {
    const step = planDue(hourly(more), START + HOUR + late, { missed: "once", ...defaults });
    return step && (step.kind === "fire" ? `fire ${step.lateMs}` : `skip ${step.count} ${step.reason}`);
  };
  const backoff = (until: number) => ({ state: { nextRunAtMs: START + HOUR, backoffUntilMs: START + HOUR + until } });

  test.each<readonly [string, Partial<CronJob>, number, Partial<DueDefaults>, string | undefined]>([
    ["at its time", {}, 0, {}, "fire 0"],
    ["not before it", {}, -1, {}, undefined],
    ["until a moment before the next one", {}, HOUR - 1, {}, "fire 3599999"],
    ["not after the next one", {}, HOUR, {}, "skip 1 missed"],
    ["not if it is off", { enabled: false }, 0, {}, undefined],
    ["not without a time", { state: {} }, 0, {}, undefined],
    ["not later than its own limit", { maxLatenessMs: 5 }, 6, { maxLatenessMs: 9 }, "skip 1 too late"],
    ["up to its own limit", { maxLatenessMs: 5 }, 5, { maxLatenessMs: 1 }, "fire 5"],
    ["not later than the common limit", {}, 6, { maxLatenessMs: 5 }, "skip 1 too late"],
    ["up to the common limit", {}, 5, { maxLatenessMs: 5 }, "fire 5"],
    ["up to a limit of nothing", { maxLatenessMs: 0 }, 0, {}, "fire 0"],
    ["not later than its limit, if it wants all", { missed: "all", maxLatenessMs: 5 }, 6, {}, "skip 1 too late"],
    ["up to its limit, if it wants all", { missed: "all", maxLatenessMs: 5 }, 5, {}, "fire 5"],
    ["by its own policy", { missed: "once" }, 2 * MINUTE, { missed: "skip" }, "fire 120000"],
    ["by the common policy", {}, 2 * MINUTE, { missed: "skip" }, "skip 1 missed"],
    ["late, but within the grace", { missed: "skip", maxLatenessMs: 5 }, 6, {}, "skip 1 too late"],
    ["not during a backoff", backoff(1), 0, {}, "skip 1 backoff"],
    ["at the end of a backoff", backoff(0), 0, {}, "fire 0"],
    ["not for what a backoff covers", backoff(3 * HOUR), 2 * HOUR, {}, "skip 3 backoff"],
    ["again after a backoff", backoff(2 * HOUR), 2 * HOUR, {}, "skip 2 backoff"],
  ])("%s", (_what, more, late, defaults, expected) => {
    expect(stepOf(more, late, defaults)).toBe(expected);
  });

  test("and names its next time, in its zone", () => {
    const schedule = { kind: "cron", expr: "0 9 * * *" } as const;
    const nineIn = (zone: string, common: string) => {
      const job = jobOf(schedule, { zone, state: { nextRunAtMs: START } });
      return new Date(planDue(job, START, { missed: "once", zone: common })?.nextAt ?? 0).toISOString();
    };
    expect(nineIn("Asia/Tokyo", "UTC")).toBe("2026-01-02T00:00:00.000Z");
    expect(nineIn(undefined as never, "UTC")).toBe("2026-01-01T09:00:00.000Z");
  });
});

describe("a range of due times", () => {
  const minutes = { kind: "cron", expr: "* * * * *", tz: "UTC" } as const;
  const first = START + 30_000;
  test.each([
    ["of one", first + 1, 1, first],
    ["up to before its end", first + MINUTE, 1, first],
    ["with one more", first + MINUTE + 1, 2, first + MINUTE],
    ["of a batch", first + 600 * MINUTE, 500, first + 499 * MINUTE],
    ["that ends before it begins", first - 5, 1, first],
  ])("%s", (_what, before, count, untilAt) => {
    expect(range(minutes, first, before)).toEqual({ dueAt: first, untilAt, count, nextAt: untilAt + MINUTE });
    const every = { kind: "every", everyMs: MINUTE, anchorMs: first } as const;
    const all = Math.max(1, Math.ceil((before - first) / MINUTE));
    expect(range(every, first, before)).toEqual({
      dueAt: first,
      untilAt: first + (all - 1) * MINUTE,
      count: all,
      nextAt: first + all * MINUTE,
    });
  });

  test("of one time has no next one", () => {
    const once = { kind: "at", atMs: first } as const;
    expect(range(once, first, first + DAY)).toEqual({ dueAt: first, untilAt: first, count: 1, nextAt: undefined });
  });
});
