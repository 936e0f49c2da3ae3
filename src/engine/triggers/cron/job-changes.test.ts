/** Edits of jobs: what an edit of the schedule does to due times that have passed, and what any other edit leaves alone. */
import { describe, expect, test } from "vitest";
import type { CronJob } from "../../../core/schedule/job.ts";
import { slotName } from "../../../core/schedule/job-slot.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { addedJob, editedJob, firedSlot, removedJob, replannedJob, skippedSlot } from "./job-changes.ts";
import { planDue, range } from "./plan-due.ts";
import { computeNextRunAtMs } from "./schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-01-05T00:00:00Z");
const zone = "UTC";
const turn = { kind: "agentTurn", message: "m" } as const;

const added = (more: object = {}): CronJob =>
  addedJob(
    "j",
    {
      name: "n",
      schedule: { kind: "every", everyMs: HOUR },
      payload: turn,
      sessionTarget: "isolated",
      ...more,
    } as never,
    { profile: "main", sessionKey: "k" },
    { now: START, zone },
  ).job;
const slotsOf = (ops: readonly { readonly op: string }[]): readonly object[] =>
  ops.flatMap((one) => {
    if (one.op !== "job.slot") return [];
    const { slot } = one as unknown as { slot: Record<string, unknown> };
    const { dueAt, untilAt, count, reason } = slot;
    const after = (time: unknown): number | undefined =>
      time === undefined ? undefined : ((time as number) - START) / HOUR;
    return [{ due: after(dueAt), until: after(untilAt), count, reason }];
  });

describe("a new job", () => {
  test("is enabled, has its next time, wakes now, and is refused if it exists", () => {
    const { job, ops } = addedJob(
      "j",
      { name: "n", schedule: { kind: "cron", expr: "0 9 * * *" }, payload: turn } as never,
      { profile: "p", sessionKey: "k", behalf: { person: "ann" } as never },
      { now: START, zone: "Europe/Berlin" },
    );
    expect(job).toMatchObject({
      enabled: true,
      wakeMode: "now",
      agentId: "p",
      sessionKey: "k",
      behalf: { person: "ann" },
      zone: "Europe/Berlin",
      revision: 1,
      createdAtMs: START,
      state: { nextRunAtMs: START + 8 * HOUR },
    });
    expect(ops).toEqual([{ op: "job.put", job, expect: 0 }]);
  });

  test("keeps what it was made with, and one without a due time in the future is refused", () => {
    const more = { description: "d", missed: "skip", staggerMs: 5, gate: { kind: "command", command: "true" } };
    expect(added(more)).toMatchObject({ ...more, name: "n", payload: turn, sessionTarget: "isolated" });
    expect(() => added({ schedule: { kind: "at", atMs: START } })).toThrow("That time is in the past");
    expect(() => added({ schedule: { kind: "at", atMs: START }, enabled: false })).toThrow("That time is in the past");
  });

  test("is planned in the zone of the machine if none is configured", () => {
    const schedule = { kind: "cron", expr: "0 9 * * *" } as const;
    const { job } = addedJob("j", { name: "n", schedule, payload: turn } as never, {}, { now: START });
    expect(job.zone).toBe(hostZone());
    expect(job.state.nextRunAtMs).toBe(computeNextRunAtMs(schedule, START, hostZone()));
  });

  test("that is turned off has no next time, and one with its own zone or an interval keeps no other", () => {
    expect(added({ enabled: false }).state.nextRunAtMs).toBeUndefined();
    expect(added().zone).toBeUndefined();
    expect(added({ schedule: { kind: "cron", expr: "0 9 * * *", tz: "Asia/Tokyo" } }).zone).toBeUndefined();
  });
});

describe("an edit", () => {
  const now = START + 3 * HOUR + 5 * MINUTE;
  const failed = (): CronJob => {
    const job = added();
    return { ...job, state: { ...job.state, consecutiveErrors: 2, backoffUntilMs: 9, lastStatus: "error" } as never };
  };

  test("of the schedule closes the due times that have passed in one row, and forgets the failures", () => {
    const before = failed();
    const { job, ops } = editedJob(before, { schedule: { kind: "every", everyMs: 2 * HOUR } } as never, { now, zone });
    expect(slotsOf(ops)).toEqual([{ due: 1, until: 3, count: 3, reason: "edited" }]);
    expect(job).toMatchObject({
      revision: 2,
      updatedAtMs: now,
      state: { nextRunAtMs: now + 2 * HOUR, lastStatus: "error" },
    });
    expect([job.state.consecutiveErrors, job.state.backoffUntilMs]).toEqual([undefined, undefined]);
    expect(ops.at(-1)).toMatchObject({ op: "job.put", job, expect: expect.anything() });
  });

  test("that closes one due time names no end of a range, and one due at this moment counts", () => {
    const { ops } = editedJob(added(), { schedule: { kind: "every", everyMs: 2 * HOUR } } as never, {
      now: START + HOUR,
      zone,
    });
    expect(slotsOf(ops)).toEqual([{ due: 1, until: undefined, count: 1, reason: "edited" }]);
    const early = editedJob(added(), { enabled: false } as never, { now: START + HOUR - 1, zone });
    expect(slotsOf(early.ops)).toEqual([]);
  });

  test("that turns it off leaves no next time, and one that turns it on again plans from now", () => {
    const off = editedJob(failed(), { enabled: false } as never, { now, zone });
    expect(slotsOf(off.ops)).toEqual([{ due: 1, until: 3, count: 3, reason: "disabled" }]);
    expect([off.job.enabled, off.job.state.nextRunAtMs, off.job.revision]).toEqual([false, undefined, 2]);
    const on = editedJob(off.job, { enabled: true } as never, { now: now + HOUR, zone });
    expect(slotsOf(on.ops)).toEqual([]);
    expect([on.job.enabled, on.job.state.nextRunAtMs, on.job.revision]).toEqual([true, START + 5 * HOUR, 3]);
  });

  test.each([
    ["the name", { name: "other" }],
    ["the same interval without its anchor", { schedule: { kind: "every", everyMs: HOUR } }],
    ["what it already is", { enabled: true }],
  ])("of %s keeps the due times, the failures and the revision", (_what, patch) => {
    const before = failed();
    const { job, ops } = editedJob(before, patch as never, { now, zone });
    expect([job.state, job.revision, ops.length]).toEqual([before.state, 1, 1]);
    expect(job.sessionTarget).toBe("isolated");
  });

  test("of the interval to one with an anchor moves the rhythm", () => {
    const anchorMs = now + 7 * MINUTE;
    const { job } = editedJob(added(), { schedule: { kind: "every", everyMs: HOUR, anchorMs } } as never, {
      now,
      zone,
    });
    expect([job.state.nextRunAtMs, job.revision]).toEqual([anchorMs, 2]);
  });

  test("of the payload to another kind chooses where it runs again; of the same kind it stays", () => {
    const event = { kind: "systemEvent", text: "t" };
    expect(editedJob(added(), { payload: event } as never, { now, zone }).job.sessionTarget).toBe("main");
    const same = editedJob(added(), { payload: { ...turn, message: "other" } } as never, { now, zone });
    expect(same.job.sessionTarget).toBe("isolated");
  });

  test("of where it runs is taken with its payload, and one that does not fit is refused", () => {
    const event = { kind: "systemEvent", text: "t" };
    const main = editedJob(added(), { payload: event, sessionTarget: "main" } as never, { now, zone });
    expect(main.job.sessionTarget).toBe("main");
    const isolated = { sessionTarget: "isolated", payload: event };
    expect(() => editedJob(added(), isolated as never, { now, zone })).toThrow("isolated cron jobs require");
    expect(() => editedJob(added(), { sessionTarget: "main" } as never, { now, zone })).toThrow(
      "main cron jobs require",
    );
  });

  test("that leaves the payload alone does not choose where it runs again", () => {
    // An older program stored this pair: an edit refuses it instead of moving the job to another conversation.
    const odd = { ...added(), sessionTarget: "main" } as CronJob;
    expect(() => editedJob(odd, { name: "x" } as never, { now, zone })).toThrow("main cron jobs require");
  });

  test("changes what it names, and keeps the rest of the job", () => {
    const before = { ...added({ description: "old", missed: "skip" }), behalf: { person: "ann" } } as CronJob;
    const { job } = editedJob(before, { description: "new", staggerMs: 7 } as never, { now, zone });
    expect(job).toEqual({ ...before, description: "new", staggerMs: 7, updatedAtMs: now });
    const moved = editedJob(before, { schedule: { kind: "at", atMs: now + 1 } } as never, { now, zone }).job;
    expect(moved).toMatchObject({ id: "j", createdAtMs: START, agentId: "main", sessionKey: "k", missed: "skip" });
  });

  test("to a time in the past is refused, unless the job is off or nothing is planned again", () => {
    const past = { schedule: { kind: "at", atMs: now } };
    const edit = (before: CronJob, patch: object) => editedJob(before, patch as never, { now, zone }).job;
    expect(() => edit(added(), past)).toThrow("That time is in the past");
    expect(edit(added(), { ...past, enabled: false }).state.nextRunAtMs).toBeUndefined();
    expect(edit(added({ enabled: false }), past).schedule).toEqual(past.schedule);
    const once = added({ schedule: { kind: "at", atMs: START + HOUR } });
    expect(edit(once, { name: "x" }).name).toBe("x");
    expect(edit(once, { enabled: false }).enabled).toBe(false);
    expect(() => edit({ ...once, enabled: false }, { enabled: true })).toThrow("That time is in the past");
  });

  test("of the kind of the schedule takes the new one as it is, whatever they share", () => {
    const edit = (from: object, to: object) =>
      editedJob(added({ schedule: from }), { schedule: to } as never, { now, zone }).job.schedule;
    const cron = { kind: "cron", expr: "0 9 * * *" };
    expect(edit(cron, { kind: "every", everyMs: HOUR })).toEqual({ kind: "every", everyMs: HOUR, anchorMs: now });
    expect(edit({ kind: "every", everyMs: HOUR }, cron)).toEqual(cron);
    expect(edit({ kind: "at", atMs: now + 5 }, cron)).toEqual(cron);
    expect(edit({ kind: "every", everyMs: HOUR }, { kind: "at", atMs: now + 5 })).toEqual({
      kind: "at",
      atMs: now + 5,
    });
  });

  test("of the zone's owner keeps the zone it was planned in, unless it plans again", () => {
    const cron = added({ schedule: { kind: "cron", expr: "0 9 * * *" } });
    expect(editedJob(cron, { name: "x" } as never, { now, zone: "Asia/Tokyo" }).job.zone).toBe("UTC");
    const again = editedJob(cron, { schedule: { kind: "cron", expr: "0 10 * * *" } } as never, {
      now,
      zone: "Asia/Tokyo",
    });
    expect(again.job.zone).toBe("Asia/Tokyo");
  });

  test("a removal closes the due times too, and a job that is off has none", () => {
    expect(slotsOf(removedJob(added(), { now, zone }))).toEqual([{ due: 1, until: 3, count: 3, reason: "removed" }]);
    expect(removedJob({ ...added(), enabled: false }, { now, zone })).toMatchObject([{ op: "job.remove", id: "j" }]);
  });

  test("of more due times than one row may count needs several rows, and misses none", () => {
    const minutely = added({ schedule: { kind: "cron", expr: "* * * * *" } });
    const rows = slotsOf(removedJob(minutely, { now: START + 1_200 * MINUTE, zone })) as { count: number }[];
    expect(rows.map(({ count }) => count)).toEqual([500, 500, 200]);
  });

  test("of the zone plans again and keeps failures and settings", () => {
    const before = { ...failed(), schedule: { kind: "cron", expr: "0 9 * * *" } } as CronJob;
    const { job, ops } = replannedJob(
      before,
      { schedule: before.schedule, reason: "time zone changed" },
      { now, zone: "Asia/Tokyo" },
    );
    expect(job).toMatchObject({ zone: "Asia/Tokyo", revision: 2, state: { consecutiveErrors: 2, backoffUntilMs: 9 } });
    expect(job.state.nextRunAtMs).toBe(START + 24 * HOUR);
    expect(job).toMatchObject({
      id: "j",
      name: "n",
      agentId: "main",
      sessionKey: "k",
      payload: turn,
      updatedAtMs: now,
    });
    expect(ops.at(-1)?.op).toBe("job.put");
  });
});

test("the record of a due time that fired names it, or the slot that asked for it", () => {
  const job = { ...added(), revision: 3 } as CronJob;
  const fired = { jobId: "j", revision: 3, dueAt: 5, count: 1, status: "fired", at: 7 };
  expect(firedSlot(job, 5, 7)).toEqual({ ...fired, slot: slotName(job, 5) });
  expect(firedSlot(job, 5, 7, "wake@1")).toEqual({ ...fired, slot: "wake@1" });
});

test("the record of due times that were passed over names the last only if there are several", () => {
  const job = added();
  const skipped = (count: number) => skippedSlot(job, { dueAt: 5, untilAt: 9, count, reason: "missed" }, 11);
  expect(skipped(1)).toMatchObject({
    dueAt: 5,
    untilAt: undefined,
    count: 1,
    status: "skipped",
    reason: "missed",
    at: 11,
  });
  expect(skipped(2)).toMatchObject({ slot: slotName(job, 5), dueAt: 5, untilAt: 9, count: 2 });
});

describe("due times", () => {
  const due = { missed: "once" } as const;

  test("of a cron expression that were missed are passed over to the last one, a batch at a time", () => {
    const job = added({ schedule: { kind: "cron", expr: "* * * * *" } });
    const first = planDue(job, START + 700 * MINUTE, due);
    expect(first).toMatchObject({ kind: "skip", reason: "missed", count: 500 });
    const second = planDue({ ...job, state: { nextRunAtMs: first?.nextAt } }, START + 700 * MINUTE, due);
    expect(second).toMatchObject({ kind: "skip", count: 199 });
    const last = planDue({ ...job, state: { nextRunAtMs: second?.nextAt } }, START + 700 * MINUTE, due);
    expect(last).toMatchObject({ kind: "fire", dueAt: START + 700 * MINUTE, lateMs: 0 });
    expect(planDue({ ...job, state: { nextRunAtMs: last?.nextAt } }, START + 700 * MINUTE, due)).toBeUndefined();
  });

  test("exactly one batch late, the last of the batch fires", () => {
    const job = added({ schedule: { kind: "cron", expr: "* * * * *" } });
    expect(planDue(job, START + 500 * MINUTE, due)).toMatchObject({ kind: "skip", count: 499 });
    expect(range(job.schedule, START + MINUTE, START + 501 * MINUTE, zone)).toMatchObject({ count: 500 });
  });

  test("under skip fire as long as they are on time, and under all as long as they are not too late", () => {
    const job = added();
    const at = (ms: number, more: object): string | undefined => {
      const step = planDue({ ...job, ...more }, START + HOUR + ms, { missed: "once", graceMs: 1_000, zone });
      return step?.kind === "skip" ? step.reason : step?.kind;
    };
    expect([at(1_000, { missed: "skip" }), at(1_001, { missed: "skip" })]).toEqual(["fire", "missed"]);
    expect([at(-1, {}), at(0, {})]).toEqual([undefined, "fire"]);
    expect([at(500, { maxLatenessMs: 500 }), at(501, { maxLatenessMs: 500 })]).toEqual(["fire", "too late"]);
    expect(at(500, { missed: "all", maxLatenessMs: 500 })).toBe("fire");
    expect(at(501, { missed: "all", maxLatenessMs: 500 })).toBe("too late");
  });

  test("before the end of a back-off are skipped, one at its end is not", () => {
    const job = added();
    const held = (backoffUntilMs: number) =>
      planDue({ ...job, state: { ...job.state, backoffUntilMs } }, START + HOUR, { missed: "once", zone });
    expect(held(START + HOUR)).toMatchObject({ kind: "fire" });
    expect(held(START + HOUR + 1)).toMatchObject({ kind: "skip", reason: "backoff", count: 1 });
  });
});
