import { describe, expect, test } from "vitest";
import type { CronJob, CronJobState } from "./job.ts";
import {
  ALERT_AFTER,
  DISABLE_AFTER,
  type JobRunEnd,
  type JobSlot,
  jobAfterDelivery,
  jobAfterRun,
  type SlotDelivered,
  slotAfterDelivery,
  slotName,
  spentOn,
} from "./job-slot.ts";

const DAY = 86_400_000;
const AT = 20_000 * DAY + 5;

const jobOf = (state: CronJobState, rest: Partial<CronJob> = {}): CronJob => ({
  id: "j",
  name: "j",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "every", everyMs: 1_000, anchorMs: 0 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "" },
  state,
  ...rest,
});
const endOf = (rest: Partial<JobRunEnd> = {}): JobRunEnd => ({
  at: AT,
  status: "ok",
  delivery: { status: "none" },
  failed: false,
  ...rest,
});
const failure = endOf({ status: "error", error: "broke", failed: true });

describe("a job after a run", () => {
  test.each([
    [0, 1, 30_000],
    [1, 2, 60_000],
    [2, 3, 300_000],
    [3, 4, 900_000],
    [4, 5, 3_600_000],
    [5, 6, 3_600_000],
    [8, 9, 3_600_000],
  ])("that failed after %i failures counts %i and waits %i ms", (before, errors, wait) => {
    const after = jobAfterRun(jobOf({ consecutiveErrors: before }), failure);
    expect(after).toMatchObject({
      enabled: true,
      state: { consecutiveErrors: errors, backoffUntilMs: AT + wait, lastStatus: "error", lastError: "broke" },
    });
    expect(after?.state.disabledReason).toBeUndefined();
  });

  test("that failed for the first time counts one", () => {
    expect(jobAfterRun(jobOf({}), failure)?.state).toMatchObject({ consecutiveErrors: 1, backoffUntilMs: AT + 30_000 });
  });

  test("is told about after two failures in a row", () => {
    expect([ALERT_AFTER, DISABLE_AFTER]).toEqual([2, 10]);
  });

  test("is turned off by the tenth failure in a row, and says why", () => {
    const after = jobAfterRun(jobOf({ consecutiveErrors: DISABLE_AFTER - 1 }), failure);
    expect(after).toMatchObject({ enabled: false, state: { disabledReason: "10 failures in a row" } });
    expect(jobAfterRun(jobOf({ disabledReason: "earlier" }), endOf())?.state.disabledReason).toBe("earlier");
  });

  test("that went well forgets the failure, the back-off and the mark of the active run", () => {
    const before = { runningAtMs: 3, backoffUntilMs: 9, lastError: "old", consecutiveErrors: 4, nextRunAtMs: 77 };
    const after = jobAfterRun(jobOf(before), endOf({ startedAt: 5, durationMs: 6 }));
    expect(after?.state).toEqual({
      nextRunAtMs: 77,
      lastRunAtMs: 5,
      lastDurationMs: 6,
      lastStatus: "ok",
      lastDeliveryStatus: "none",
      consecutiveErrors: 0,
    });
  });

  test("keeps the last run's times if this one has none", () => {
    const after = jobAfterRun(jobOf({ lastRunAtMs: 5, lastDurationMs: 6 }), endOf({ status: "dropped" }));
    expect(after?.state).toMatchObject({ lastRunAtMs: 5, lastDurationMs: 6, lastStatus: "skipped" });
  });

  test.each([
    ["owed", 3, 3],
    ["unroutable", 3, 3],
    ["none", 0, undefined],
    ["sent", 0, undefined],
  ] as const)("whose answer is %s has %i failures of deliveries left", (status, errors, deliveryErrors) => {
    const after = jobAfterRun(jobOf({ consecutiveErrors: 3, deliveryErrors: 3 }), endOf({ delivery: { status } }));
    expect(after?.state).toMatchObject({ consecutiveErrors: errors, lastDeliveryStatus: status });
    expect(after?.state.deliveryErrors).toBe(deliveryErrors);
  });

  test("with an owed answer keeps also a single failed delivery, and everything else of the job", () => {
    const job = jobOf({ deliveryErrors: 1 }, { description: "d" });
    const { state, ...rest } = jobAfterRun(job, endOf({ delivery: { status: "owed" } })) as CronJob;
    expect(state).toMatchObject({ consecutiveErrors: 1, deliveryErrors: 1 });
    expect({ ...rest, state: job.state }).toEqual(job);
  });

  test("with an owed answer and no failed delivery before has none to keep", () => {
    const after = jobAfterRun(jobOf({}), endOf({ delivery: { status: "owed" } }));
    expect(after?.state).toMatchObject({ consecutiveErrors: 0 });
    expect(after?.state.deliveryErrors).toBeUndefined();
  });

  test("that failed keeps no failures of deliveries apart", () => {
    const end = { ...failure, delivery: { status: "owed" } as const };
    const after = jobAfterRun(jobOf({ consecutiveErrors: 2, deliveryErrors: 2 }), end);
    expect(after?.state.consecutiveErrors).toBe(3);
    expect(after?.state.deliveryErrors).toBeUndefined();
  });

  const at = { schedule: { kind: "at", atMs: 5 } } as const;
  test.each([
    ["one-time", at, endOf(), "off"],
    ["one-time that failed", at, failure, "off"],
    ["one-time, asked for by a person", at, endOf({ manual: true }), "on"],
    ["one-time that deletes itself", { ...at, deleteAfterRun: true }, endOf(), "gone"],
    ["one-time that deletes itself and failed", { ...at, deleteAfterRun: true }, failure, "off"],
    ["one-time that deletes itself, asked for", { ...at, deleteAfterRun: true }, endOf({ manual: true }), "on"],
    ["one-time of a file that deletes itself", { ...at, deleteAfterRun: true, file: "x.md" }, endOf(), "off"],
    ["repeated that deletes itself", { deleteAfterRun: true }, endOf(), "gone"],
    ["repeated", {}, endOf(), "on"],
    ["repeated that was turned off meanwhile", { enabled: false }, endOf(), "off"],
  ] as const)("%s: is %s", (_name, rest, end, expected) => {
    const after = jobAfterRun(jobOf({}, rest), end);
    expect(after === undefined ? "gone" : after.enabled ? "on" : "off").toBe(expected);
  });

  test("that is over waits for no back-off", () => {
    expect(jobAfterRun(jobOf({}, at), failure)?.state.backoffUntilMs).toBeUndefined();
  });

  test("adds what it cost to the day, and begins each day at zero", () => {
    const spent = (job: CronJob | undefined): unknown => job?.state.spent;
    const first = jobAfterRun(jobOf({}), endOf({ cost: 2 }));
    expect(spent(first)).toEqual({ day: 20_000, cost: 2 });
    expect(spent(jobAfterRun(first as CronJob, endOf({ cost: 3 })))).toEqual({ day: 20_000, cost: 5 });
    expect(spent(jobAfterRun(first as CronJob, endOf()))).toEqual({ day: 20_000, cost: 2 });
    expect(spent(jobAfterRun(first as CronJob, endOf({ at: AT + DAY, cost: 3 })))).toEqual({ day: 20_001, cost: 3 });
    expect(spentOn({ day: 20_000, cost: 7 }, 20_000 * DAY)).toBe(7);
    expect(spentOn({ day: 20_000, cost: 7 }, 20_001 * DAY - 1)).toBe(7);
    expect(spentOn({ day: 20_000, cost: 7 }, 20_001 * DAY)).toBe(0);
    expect(spentOn({ day: 20_000 }, AT)).toBe(0);
    expect(spentOn(undefined, AT)).toBe(0);
  });
});

const slotOf = (status: JobRunEnd["delivery"]["status"] | undefined): JobSlot => ({
  jobId: "j",
  slot: "1@5",
  revision: 1,
  dueAt: 5,
  count: 1,
  status: "fired",
  at: 6,
  end: status && { at: 7, status: "ok", delivery: { status } },
});
const told = (rest: Partial<SlotDelivered> = {}): SlotDelivered => ({ at: AT, status: "sent", failed: false, ...rest });
const lost = told({ status: "failed", reason: "blocked", failed: true });
const OPEN = ["owed", "sent", "unroutable"] as const;
const CLOSED = [undefined, "none", "failed", "unconfirmed", "suppressed"] as const;

describe("a slot after a delivery", () => {
  test.each(OPEN)("that was %s takes the result and its reason", (status) => {
    expect(slotAfterDelivery(slotOf(status), lost).end).toEqual({
      at: 7,
      status: "ok",
      delivery: { status: "failed", reason: "blocked" },
    });
  });
  test.each(CLOSED)("that was %s stays", (status) => {
    const slot = slotOf(status);
    expect(slotAfterDelivery(slot, lost)).toBe(slot);
  });
  test("has the name of its revision and due time", () => {
    expect(slotName(jobOf({}), 5)).toBe("1@5");
    expect(slotName(jobOf({}, { revision: 3 }), 5)).toBe("3@5");
  });
});

describe("a job after a delivery", () => {
  test.each(CLOSED)("of a slot that was %s does not change", (status) => {
    const job = jobOf({ consecutiveErrors: 1 });
    expect(jobAfterDelivery(job, slotOf(status), lost)).toBe(job);
    expect(jobAfterDelivery(job, undefined, lost)).toBe(job);
  });

  test.each(OPEN)("that failed, of a slot that was %s, counts like a failed run", (status) => {
    expect(jobAfterDelivery(jobOf({ consecutiveErrors: 1 }), slotOf(status), lost)).toMatchObject({
      enabled: true,
      state: {
        lastStatus: "error",
        lastError: "The delivery failed: blocked",
        lastDeliveryStatus: "failed",
        consecutiveErrors: 2,
        deliveryErrors: 2,
        backoffUntilMs: AT + 60_000,
      },
    });
  });

  test("that failed without a reason says how it ended", () => {
    const after = jobAfterDelivery(jobOf({}), slotOf("owed"), told({ status: "unconfirmed", failed: true }));
    expect(after.state).toMatchObject({
      lastError: "The delivery failed: unconfirmed",
      consecutiveErrors: 1,
      backoffUntilMs: AT + 30_000,
    });
    expect(after.state.disabledReason).toBeUndefined();
  });

  test("that failed for the ninth and the tenth time", () => {
    const ninth = jobAfterDelivery(jobOf({ consecutiveErrors: 8 }), slotOf("owed"), lost);
    expect(ninth).toMatchObject({ enabled: true, state: { backoffUntilMs: AT + 3_600_000 } });
    const tenth = jobAfterDelivery(ninth, slotOf("owed"), lost);
    expect(tenth).toMatchObject({ enabled: false, state: { disabledReason: "10 failures in a row" } });
  });

  test("does not turn on what is off, and leaves its back-off", () => {
    const job = jobOf({ backoffUntilMs: 4, disabledReason: "by hand" }, { enabled: false });
    const after = jobAfterDelivery(job, slotOf("owed"), lost);
    expect(after).toMatchObject({ enabled: false, state: { backoffUntilMs: 4, disabledReason: "by hand" } });
  });

  test("that arrived clears earlier failures of deliveries", () => {
    const before = { consecutiveErrors: 2, deliveryErrors: 2, backoffUntilMs: 9, lastError: "x", lastRunAtMs: 1 };
    const after = jobAfterDelivery(jobOf(before), slotOf("owed"), told());
    expect(after.state).toEqual({
      lastRunAtMs: 1,
      lastStatus: "ok",
      lastDeliveryStatus: "sent",
      consecutiveErrors: 0,
    });
  });

  test.each([
    [{ deliveryErrors: 2 }, "unconfirmed"],
    [{ deliveryErrors: 2 }, "unroutable"],
    [{ deliveryErrors: 0 }, "sent"],
    [{}, "sent"],
  ] as const)("with %j that is %s leaves the failures as they are", (rest, status) => {
    const before = { ...rest, consecutiveErrors: 2, backoffUntilMs: 9, lastError: "x" };
    const after = jobAfterDelivery(jobOf(before), slotOf("owed"), told({ status }));
    expect(after.state).toEqual({ ...before, lastDeliveryStatus: status });
  });
});
