import { describe, expect, test } from "vitest";
import type { CronJob, CronPayload } from "../../../core/schedule/job.ts";
import { textSize } from "../../../core/text-limits.ts";
import { anchored, checkedTarget, normalizeCronJobCreate, normalizeCronJobPatch } from "./normalize-job.ts";
import { timeOf } from "./read-time.ts";

const schedule = { kind: "every", everyMs: 60_000 } as const;
const payload = { kind: "agentTurn", message: "look" } as const;
const given = { name: "mail", schedule, payload };
const create = (more: object): ReturnType<typeof normalizeCronJobCreate> =>
  normalizeCronJobCreate({ ...given, ...more });

describe("a new job", () => {
  test.each([
    ["as it is", given],
    ["in data", { data: given }],
    ["in job", { job: given }],
    ["in data, beside another field", { data: given, extra: 1 }],
    ["with an empty wrapper", { ...given, data: {} }],
    ["with a wrapper beside its own schedule", { ...given, job: { name: "other" } }],
    ["with spaces around the name", { ...given, name: " mail " }],
  ])("is read %s", (_name, raw) => {
    expect(normalizeCronJobCreate(raw)).toEqual(given);
  });

  test("may have names of one letter, an expression under its old name, and keeps the new one beside it", () => {
    expect(create({ name: "m", agentId: " a " })).toMatchObject({ name: "m", agentId: "a" });
    expect(create({ schedule: { kind: "cron", cron: "0 9 * * *" } }).schedule).toMatchObject({ expr: "0 9 * * *" });
    expect(create({ schedule: { kind: "cron", expr: "0 8 * * *", cron: "0 9 * * *" } }).schedule).toMatchObject({
      expr: "0 8 * * *",
    });
    expect(() => create({ schedule: { kind: "sometimes", cron: "0 9 * * *" } })).toThrow(/^Invalid cron job: /);
  });

  test.each([
    [{ name: "" }, /^cron job name is required$/],
    [{ name: "  " }, /^cron job name is required$/],
    [{ name: 5 }, /^cron job name is required$/],
    [{ schedule: { kind: "every", everyMs: 999 } }, /everyMs must be at least 1000 \(one second\)/],
    [{ schedule: { kind: "sometimes" } }, /^Invalid cron job: /],
    [{ payload: { kind: "agentTurn" } }, /^Invalid cron job: /],
    [{ staggerMs: 86_400_001 }, /^Invalid cron job: /],
    [{ staggerMs: -1 }, /^Invalid cron job: /],
    [{ maxLatenessMs: -1 }, /^Invalid cron job: /],
    [{ agentId: " " }, /^Invalid cron job: /],
    [{ enabled: "maybe" }, /^Invalid cron job: /],
  ])("with %j is refused", (more, message) => {
    expect(() => create(more)).toThrow(message);
  });

  test.each([[undefined], [null], ["text"], [[given]], [5]])("that is %j is refused by its name", (raw) => {
    expect(() => normalizeCronJobCreate(raw)).toThrow("cron job name is required");
  });

  test.each([
    [{ schedule: { kind: "every", everyMs: 1_000 } }],
    [{ staggerMs: 86_400_000 }],
    [{ staggerMs: 0 }],
    [{ maxLatenessMs: 0 }],
    [{ enabled: false, deleteAfterRun: true }],
  ])("with %j is taken", (more) => {
    expect(create(more)).toMatchObject(more);
  });

  test("takes flags as text", () => {
    expect(create({ enabled: "false", deleteAfterRun: "true" })).toMatchObject({
      enabled: false,
      deleteAfterRun: true,
    });
  });

  test("has at most 100000 characters, counted exactly", () => {
    const rest = textSize({ ...given, description: "" });
    const sized = (size: number) => create({ description: "x".repeat(size - rest) });
    expect(() => sized(100_000)).not.toThrow();
    expect(() => sized(100_001)).toThrow("The cron job has 100001 characters");
  });
});

describe("a schedule in other forms", () => {
  const nine = Date.parse("2026-01-31T09:00:00Z");
  test.each([
    ["an expression as text", "0 9 * * *", { kind: "cron", expr: "0 9 * * *" }],
    ["a kind that is missing", { expr: "0 9 * * *", tz: "UTC" }, { kind: "cron", expr: "0 9 * * *", tz: "UTC" }],
    ["the old name of an expression", { kind: "cron", cron: "0 9 * * *" }, { kind: "cron", expr: "0 9 * * *" }],
    ["both names", { kind: "cron", expr: "1 9 * * *", cron: "0 9 * * *" }, { kind: "cron", expr: "1 9 * * *" }],
    ["a time as text", { kind: "at", at: "2026-01-31T09:00:00Z" }, { kind: "at", atMs: nine }],
    ["a time without a kind", { at: "2026-01-31T09:00:00Z" }, { kind: "at", atMs: nine }],
    ["a time in milliseconds", { atMs: nine }, { kind: "at", atMs: nine }],
    ["milliseconds before text", { atMs: 5, at: "2026-01-31T09:00:00Z" }, { kind: "at", atMs: 5 }],
    ["a wait from now", { inMs: 500 }, { kind: "at", atMs: 1_500 }],
    ["a wait beside a kind", { kind: "at", inMs: 500 }, { kind: "at", atMs: 1_500 }],
    ["an interval without a kind", { everyMs: 5_000 }, { kind: "every", everyMs: 5_000 }],
    [
      "an anchor as text",
      { kind: "every", everyMs: 5_000, anchor: "2026-01-31T09:00:00Z" },
      { kind: "every", everyMs: 5_000, anchorMs: nine },
    ],
    [
      "an anchor in milliseconds before text",
      { kind: "every", everyMs: 5_000, anchorMs: 7, anchor: "2026-01-31T09:00:00Z" },
      { kind: "every", everyMs: 5_000, anchorMs: 7 },
    ],
    ["a kind before what fits another", { kind: "every", everyMs: 5_000, at: 7 }, { kind: "every", everyMs: 5_000 }],
  ])("%s", (_name, raw, expected) => {
    expect(normalizeCronJobCreate({ ...given, schedule: raw }, { now: 1_000 }).schedule).toEqual(expected);
  });

  test("a wait needs to know what time it is", () => {
    expect(() => normalizeCronJobCreate({ ...given, schedule: { inMs: 500 } })).toThrow(/^Invalid cron job/);
  });

  test.each([
    [1_700, "UTC", 1_700],
    ["1700", "UTC", 1_700],
    [" 2026-01-31T09:00:00Z ", "Asia/Tokyo", nine],
    ["2026-01-31T10:00+01:00", "Asia/Tokyo", nine],
    ["2026-01-31T10:00+0100", "Asia/Tokyo", nine],
    ["2026-01-31 09:00z", "UTC", nine],
    ["2026-01-31T18:00", "Asia/Tokyo", nine],
    ["2026-01-31 18:00", "Asia/Tokyo", nine],
    ["2026-01-31", "UTC", Date.parse("2026-01-31T00:00Z")],
    ["2026-01-31", "Asia/Tokyo", Date.parse("2026-01-30T15:00Z")],
    ["2026-01-31T09:00", undefined, nine],
    [undefined, "UTC", undefined],
  ])("the time %j in %s", (value, zone, expected) => {
    expect(timeOf(value, zone)).toBe(expected);
  });

  test.each(["Asia/Tokyo", "America/New_York"])("a time does not depend on the zone of the machine (%s)", (machine) => {
    const before = process.env.TZ;
    process.env.TZ = machine;
    try {
      expect(timeOf("2026-01-31T09:00", "UTC")).toBe(nine);
      expect(timeOf("2026-01-31", "UTC")).toBe(nine - 9 * 3_600_000);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  test.each(["tomorrow", "2026-13-01", ""])("%j is not a time", (text) => {
    expect(() => timeOf(text)).toThrow(`"${text}" is not a time.`);
  });

  test("an interval gets an anchor once", () => {
    expect(anchored({ kind: "every", everyMs: 5 }, 9)).toEqual({ kind: "every", everyMs: 5, anchorMs: 9 });
    expect(anchored({ kind: "every", everyMs: 5, anchorMs: 3 }, 9)).toEqual({ kind: "every", everyMs: 5, anchorMs: 3 });
    expect(anchored({ kind: "at", atMs: 3 }, 9)).toEqual({ kind: "at", atMs: 3 });
  });
});

describe("a schedule that says more than one thing", () => {
  const read = (raw: unknown, moment?: object) => normalizeCronJobCreate({ ...given, schedule: raw }, moment).schedule;

  test("is what its kind says, whatever fields of another stand beside it", () => {
    expect(read({ kind: "cron", expr: "0 9 * * *", everyMs: 5_000 })).toEqual({ kind: "cron", expr: "0 9 * * *" });
    expect(read({ kind: "at", atMs: 5, everyMs: 5_000, expr: "0 9 * * *" })).toEqual({ kind: "at", atMs: 5 });
    expect(read({ kind: "every", everyMs: 5_000, expr: "0 9 * * *" })).toEqual({ kind: "every", everyMs: 5_000 });
  });

  test("without a kind is a time, before an interval, before an expression", () => {
    expect(read({ atMs: 5, everyMs: 5_000, expr: "0 9 * * *" })).toEqual({ kind: "at", atMs: 5 });
    expect(read({ everyMs: 5_000, expr: "0 9 * * *" })).toEqual({ kind: "every", everyMs: 5_000 });
    expect(() => read({})).toThrow(/^Invalid cron job: /);
    expect(() => read({ kind: "sometimes", expr: "0 9 * * *" })).toThrow(/^Invalid cron job: /);
    expect(() => read({ cron: "0 9 * * *" })).toThrow(/^Invalid cron job: /);
  });

  test("in some time needs to know the time", () => {
    expect(read({ inMs: 5 }, { now: 10 })).toEqual({ kind: "at", atMs: 15 });
    expect(() => read({ inMs: 5 })).toThrow(/^Invalid cron job: /);
    expect(read({ inMs: 5, everyMs: 5_000 })).toEqual({ kind: "every", everyMs: 5_000 });
    expect(read({ inMs: "5", everyMs: 5_000 }, { now: 10 })).toEqual({ kind: "every", everyMs: 5_000 });
  });

  test("under the old name of its expression is refused if that is missing too", () => {
    expect(() => read({ kind: "cron" })).toThrow(/^Invalid cron job: /);
  });
});

describe("a payload in other forms", () => {
  test.each([
    [{ message: "look" }, { kind: "agentTurn", message: "look" }],
    [{ text: "look" }, { kind: "systemEvent", text: "look" }],
    [
      { message: "look", text: "x" },
      { kind: "agentTurn", message: "look" },
    ],
    [
      { kind: "systemEvent", text: "x", message: "y" },
      { kind: "systemEvent", text: "x" },
    ],
    [
      { message: "m", provider: " Telegram " },
      { kind: "agentTurn", message: "m", channel: "telegram" },
    ],
    [
      { message: "m", provider: "slack", channel: "Telegram" },
      { kind: "agentTurn", message: "m", channel: "telegram" },
    ],
  ])("%j", (raw, expected) => {
    expect(create({ payload: raw }).payload).toEqual(expected);
  });
});

describe("a change of a job", () => {
  const jobWith = (before: CronPayload): CronJob => ({ payload: before }) as CronJob;
  const turn = jobWith({ kind: "agentTurn", message: "look", model: "a/b" });

  test("keeps its other fields beside a payload", () => {
    const patch = normalizeCronJobPatch({ name: "x", enabled: false, payload: { message: "m" } }, turn);
    expect(patch).toEqual({ name: "x", enabled: false, payload: { kind: "agentTurn", message: "m", model: "a/b" } });
    expect(normalizeCronJobPatch({ payload: { to: "x:1" } }, turn).payload).toMatchObject({
      kind: "agentTurn",
      to: "x:1",
    });
    expect(normalizeCronJobPatch({ schedule: { inMs: 5 } }, turn, { now: 10 })).toEqual({
      schedule: { kind: "at", atMs: 15 },
    });
  });

  test("to another kind does not take over the texts of the one before", () => {
    const event = jobWith({ kind: "systemEvent", text: "old" });
    expect(normalizeCronJobPatch({ payload: { kind: "agentTurn", message: "m" } }, event).payload).toEqual({
      kind: "agentTurn",
      message: "m",
    });
    const needs = 'cron.update payload.kind="agentTurn" requires message';
    expect(() => normalizeCronJobPatch({ payload: { kind: "agentTurn", text: "t" } }, event)).toThrow(needs);
  });

  test("needs no moment for a schedule that names its own times", () => {
    expect(normalizeCronJobPatch({ schedule: "0 9 * * *" }, turn)).toEqual({
      schedule: { kind: "cron", expr: "0 9 * * *" },
    });
    expect(normalizeCronJobPatch({ schedule: { everyMs: 5_000 } }, turn).schedule).toEqual({
      kind: "every",
      everyMs: 5_000,
    });
  });

  test("without a payload has none", () => {
    expect(normalizeCronJobPatch({ name: "x" }, turn)).toEqual({ name: "x" });
    expect(normalizeCronJobPatch({ data: { enabled: "false" } }, turn)).toEqual({ enabled: false });
  });

  test.each([
    [{ message: "more" }, { kind: "agentTurn", message: "more", model: "a/b" }],
    [
      { kind: "agentTurn", to: "x:1" },
      { kind: "agentTurn", message: "look", model: "a/b", to: "x:1" },
    ],
    [
      { kind: "systemEvent", text: "t" },
      { kind: "systemEvent", text: "t" },
    ],
    [{ text: "t" }, { kind: "systemEvent", text: "t" }],
  ])("with the payload %j", (raw, expected) => {
    expect(normalizeCronJobPatch({ payload: raw }, turn).payload).toEqual(expected);
  });

  test.each([
    [turn, { kind: "systemEvent" }, 'cron.update payload.kind="systemEvent" requires text'],
    [
      jobWith({ kind: "systemEvent", text: "t" }),
      { kind: "agentTurn" },
      'cron.update payload.kind="agentTurn" requires message',
    ],
    [turn, { kind: "other" }, 'cron.update payload.kind="other" requires message'],
  ])("to another kind needs its text (%#)", (job, raw, message) => {
    expect(() => normalizeCronJobPatch({ payload: raw }, job)).toThrow(message);
  });
});

test.each([
  ["agentTurn", undefined, "isolated"],
  ["agentTurn", "isolated", "isolated"],
  ["agentTurn", "main", 'main cron jobs require payload.kind="systemEvent"'],
  ["systemEvent", undefined, "main"],
  ["systemEvent", "main", "main"],
  ["systemEvent", "isolated", 'isolated cron jobs require payload.kind="agentTurn"'],
] as const)("a job with a %s for %s: %s", (kind, target, expected) => {
  const of = kind === "agentTurn" ? payload : ({ kind, text: "t" } as const);
  if (expected === "main" || expected === "isolated") expect(checkedTarget(of, target)).toBe(expected);
  else expect(() => checkedTarget(of, target)).toThrow(expected);
});
