/** Jobs and their slots: written over the version that was read, found by due time, one slot per due time (L9, M22). */
import { expect } from "vitest";
import type { RunId } from "../../src/core/ids.ts";
import type { CronJob } from "../../src/core/schedule/job.ts";
import type { JobRunEnd, JobSlot } from "../../src/core/schedule/job-slot.ts";
import { type Opener, START, storeTest } from "./fixture.ts";

const job = (id: string, rest: Partial<CronJob> = {}): CronJob => ({
  id,
  name: `job ${id}`,
  enabled: true,
  createdAtMs: START,
  updatedAtMs: START,
  schedule: { kind: "every", everyMs: 60_000, anchorMs: START },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "work" },
  state: { nextRunAtMs: START + 60_000 },
  ...rest,
});
const slot = (jobId: string, name: string, rest: Partial<JobSlot> = {}): JobSlot => ({
  jobId,
  slot: name,
  revision: 1,
  dueAt: START,
  count: 1,
  status: "fired",
  at: START,
  ...rest,
});
const end = (rest: Partial<JobRunEnd> = {}): JobRunEnd => ({
  at: START + 70_000,
  status: "ok",
  runId: "r" as RunId,
  startedAt: START + 60_000,
  durationMs: 10_000,
  delivery: { status: "none" },
  failed: false,
  ...rest,
});

export function jobsContract(open: Opener): void {
  storeTest(
    "a job is written only over the version that was read; otherwise the whole change is refused",
    open,
    async (world) => {
      await world.done([{ op: "job.put", job: job("a"), expect: 0 }]);
      expect(await world.refused([{ op: "job.put", job: job("a"), expect: 0 }])).toBe("conflict");
      await world.done([{ op: "job.put", job: job("a", { name: "first" }), expect: 1 }]);
      const late = await world.refused([
        { op: "job.slot", slot: slot("a", "1@1") },
        { op: "job.put", job: job("a", { name: "second" }), expect: 1 },
      ]);
      expect(late).toBe("conflict");
      expect(await world.store.job("a")).toMatchObject({ name: "first", version: 2 });
      expect(await world.store.jobSlot("a", "1@1")).toBeUndefined();
      expect(await world.refused([{ op: "job.remove", id: "a", expect: 1 }])).toBe("conflict");
      await world.done([{ op: "job.remove", id: "a", expect: 2 }]);
      expect(await world.store.job("a")).toBeUndefined();
    },
  );

  storeTest("a slot has one row", open, async (world) => {
    await world.done([{ op: "job.slot", slot: slot("a", "1@1") }]);
    await world.done([
      { op: "job.slot", slot: slot("b", "1@1") },
      { op: "job.slot", slot: slot("a", "1@2", { status: "skipped", reason: "missed", count: 3, untilAt: START + 3 }) },
    ]);
    expect(await world.refused([{ op: "job.slot", slot: slot("a", "1@1") }])).toBe("conflict");
    const listed = await world.store.jobSlots("a", { limit: 10 });
    expect(listed.map((one) => one.slot)).toEqual(["1@2", "1@1"]);
    expect(await world.store.jobSlots("a", { limit: 10, beforeN: listed[0]?.n ?? 0 })).toMatchObject([{ slot: "1@1" }]);
    expect(await world.store.jobSlots("a", { limit: 1 })).toHaveLength(1);
  });

  storeTest("jobs are found by their next due time", open, async (world) => {
    const at = (id: string, nextRunAtMs: number | undefined, rest: Partial<CronJob> = {}) =>
      world.done([{ op: "job.put", job: job(id, { ...rest, state: { ...rest.state, nextRunAtMs } }) }]);
    await at("late", START + 300);
    await at("first", START + 100);
    await at("off", START + 50, { enabled: false });
    await at("never", undefined);
    await at("backing-off", START + 60, { state: { backoffUntilMs: START + 200 } });
    const names = async (before?: number, limit = 10) =>
      (await world.store.nextJobs({ limit, before })).map(({ id }) => id);
    expect(await names()).toEqual(["first", "backing-off", "late"]);
    expect(await names(START + 200)).toEqual(["first", "backing-off"]);
    expect(await names(START + 99)).toEqual([]);
    expect(await names(undefined, 1)).toEqual(["first"]);
    expect((await world.store.jobs({ limit: 2, after: "first" })).map(({ id }) => id)).toEqual(["late", "never"]);
  });

  storeTest("the end of a run is recorded in its slot and its job, and is never refused", open, async (world) => {
    await world.done([
      { op: "job.put", job: job("a", { state: { nextRunAtMs: START + 120_000, runningAtMs: START } }) },
      { op: "job.slot", slot: slot("a", "1@1") },
    ]);
    await world.done([{ op: "job.ran", jobId: "a", slot: "1@1", end: end() }]);
    expect(await world.store.jobSlot("a", "1@1")).toMatchObject({
      end: { status: "ok", runId: "r", durationMs: 10_000 },
    });
    const after = await world.store.job("a");
    expect(after).toMatchObject({
      version: 2,
      state: { lastStatus: "ok", lastRunAtMs: START + 60_000, consecutiveErrors: 0 },
    });
    expect(after?.state.runningAtMs).toBeUndefined();
    await world.done([
      { op: "job.ran", jobId: "a", slot: "1@1", end: end({ status: "error", error: "no", failed: true }) },
    ]);
    expect(await world.store.job("a")).toMatchObject({
      state: { lastStatus: "error", lastError: "no", consecutiveErrors: 1, backoffUntilMs: START + 100_000 },
    });
    await world.done([
      { op: "job.put", job: job("once", { schedule: { kind: "at", atMs: START }, deleteAfterRun: true }) },
    ]);
    await world.done([{ op: "job.ran", jobId: "once", slot: "gone", end: end() }]);
    expect(await world.store.job("once")).toBeUndefined();
    await world.done([{ op: "job.ran", jobId: "never there", slot: "x", end: end() }]);
  });

  storeTest(
    "the result of a delivery is recorded once in its slot and its job, and is never refused",
    open,
    async (world) => {
      await world.done([
        { op: "job.put", job: job("a", { state: { nextRunAtMs: START + 120_000 } }) },
        { op: "job.slot", slot: slot("a", "1@1") },
      ]);
      const delivered = (status: "sent" | "failed" | "unconfirmed", failed = status === "failed") =>
        world.done([
          { op: "job.delivered", jobId: "a", slot: "1@1", told: { at: START, status, reason: "no", failed } },
        ]);
      // Before the run ends it has no delivery.
      await delivered("failed");
      expect((await world.store.job("a"))?.state.consecutiveErrors).toBeUndefined();
      const owed = { op: "job.ran", jobId: "a", slot: "1@1", end: end({ delivery: { status: "owed" } }) } as const;
      await world.done([owed]);
      await delivered("sent");
      expect(await world.store.jobSlot("a", "1@1")).toMatchObject({
        end: { status: "ok", delivery: { status: "sent" } },
      });
      expect((await world.store.job("a"))?.state).toMatchObject({ lastDeliveryStatus: "sent", consecutiveErrors: 0 });
      for (const status of ["failed", "failed", "sent"] as const) await delivered(status);
      expect(await world.store.jobSlot("a", "1@1")).toMatchObject({
        end: { delivery: { status: "failed", reason: "no" } },
      });
      const failing = { lastStatus: "error", lastDeliveryStatus: "failed", consecutiveErrors: 1, deliveryErrors: 1 };
      expect((await world.store.job("a"))?.state).toMatchObject({ ...failing, backoffUntilMs: START + 30_000 });
      // A successful run resets the delivery errors only when its own delivery is sent.
      await world.done([owed]);
      expect((await world.store.job("a"))?.state).toMatchObject({
        lastStatus: "ok",
        consecutiveErrors: 1,
        deliveryErrors: 1,
      });
      await delivered("sent");
      const well = (await world.store.job("a"))?.state;
      expect([well?.consecutiveErrors, well?.deliveryErrors, well?.lastDeliveryStatus]).toEqual([0, undefined, "sent"]);
      await world.done([
        { op: "job.delivered", jobId: "never there", slot: "x", told: { at: START, status: "sent", failed: false } },
      ]);
    },
  );

  storeTest("slots are pruned by age", open, async (world) => {
    for (const n of [1, 2, 3]) await world.done([{ op: "job.slot", slot: slot("a", `1@${n}`, { at: START + n }) }]);
    await world.done([{ op: "prune", what: "slots", before: START + 3, limit: 10 }]);
    expect((await world.store.jobSlots("a", { limit: 9 })).map((one) => one.slot)).toEqual(["1@3"]);
  });
}
