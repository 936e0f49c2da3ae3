/** What is committed with the message of a due time: one-shot jobs, silent events, and what becomes of the job. */
import { describe, expect, test } from "vitest";
import { testSettings } from "../../../test/kit/settings.ts";
import type { CronJob } from "../../core/schedule/job.ts";
import { CronService } from "./cron/cron-service.ts";
import { firedOps } from "./fired-ops.ts";

const job = (more: Partial<CronJob> = {}): CronJob =>
  ({
    id: "j",
    name: "n",
    enabled: true,
    schedule: { kind: "every", everyMs: 1_000, anchorMs: 0 },
    state: { runningAtMs: 1, consecutiveErrors: 3, lastStatus: "error", lastDurationMs: 8 },
    ...more,
  }) as CronJob;
const ONCE = { kind: "at", atMs: 5 } as const;
const firing = { slot: "1@5", dueAt: 5, lateMs: 1, now: 6 } as never;
const fired = (one: CronJob, next: number | undefined, kind: string) =>
  firedOps(one, firing, next, { body: { kind } } as never) as unknown as [
    { slot: { end?: object; dueAt: number } },
    { op: string; job?: CronJob },
  ];

describe("a due time that starts a run", () => {
  test("opens its slot, and the job is running until the run ends; its failures stay", () => {
    const [row, put] = fired(job(), 9, "trigger");
    expect([row.slot.end, row.slot.dueAt]).toEqual([undefined, 5]);
    expect(put).toMatchObject({
      op: "job.put",
      job: { enabled: true, state: { nextRunAtMs: 9, runningAtMs: 6, consecutiveErrors: 3 } },
    });
  });

  test("of a job that is deleted after its run plans no other, and leaves the job until then", () => {
    const [, put] = fired(job({ deleteAfterRun: true }), 9, "trigger");
    expect(put).toMatchObject({ op: "job.put", job: { state: { runningAtMs: 6 } } });
    expect(put.job?.state.nextRunAtMs).toBeUndefined();
  });
});

describe("a due time that is only an event", () => {
  test("ends its slot at once; the job is not running and its failures are over", () => {
    const [row, put] = fired(job(), 9, "system");
    expect(row.slot).toEqual({
      jobId: "j",
      slot: "1@5",
      revision: 1,
      dueAt: 5,
      count: 1,
      status: "fired",
      at: 6,
      end: { at: 6, status: "recorded", delivery: { status: "none" } },
    });
    expect(put.job).toMatchObject({
      id: "j",
      name: "n",
      enabled: true,
      state: { nextRunAtMs: 9, lastRunAtMs: 6, lastStatus: "ok", consecutiveErrors: 0, lastDurationMs: 8 },
    });
    expect(put.job?.state.runningAtMs).toBeUndefined();
  });

  test.each([
    ["of one time, without another", job({ schedule: ONCE }), undefined, "job.put", false],
    ["of one time, that a person moved", job({ schedule: ONCE }), 9, "job.put", true],
    ["of an interval without another", job(), undefined, "job.put", true],
    ["of a job that is off", job({ enabled: false }), 9, "job.put", false],
  ])("%s: the job stays and is enabled: %#", (_what, one, next, op, enabled) => {
    const [, put] = fired(one, next, "system");
    expect([put.op, put.job?.enabled]).toEqual([op, enabled]);
  });

  test("of a job that is deleted after its run removes the job with it", () => {
    const [, removed] = fired(job({ schedule: ONCE, deleteAfterRun: true }), undefined, "system");
    expect(removed).toMatchObject({ op: "job.remove", id: "j" });
    // Also one with other due times.
    expect(fired(job({ deleteAfterRun: true }), 9, "system")[1]).toMatchObject({ op: "job.remove", id: "j" });
    expect(fired(job({ deleteAfterRun: false }), 9, "system")[1]).toMatchObject({ op: "job.put" });
  });
});

describe("a text for the main conversation", () => {
  const wake = async (text: string, mode?: "now" | "next-heartbeat") => {
    const cron = new CronService(
      {
        clock: { now: () => 5 },
        ids: { uuid: () => "u", agent: () => "a" },
        store: {},
        people: { personOfNew: async () => "owner" },
      } as never,
      { settings: testSettings() },
    );
    const [op] = await cron.wakeOps(text, mode, { delivery: { channel: "telegram", to: "1" } });
    return (op as unknown as { message: { body: object; delivery?: object } }).message;
  };

  test("wakes and answers where it came from by default; for the next heartbeat it is silent", async () => {
    const later = await wake(" hello ", "next-heartbeat");
    expect(later).toMatchObject({ body: { text: "hello", silent: true, origin: "cron:wake" } });
    expect(later.delivery).toBeUndefined();
    const now = await wake("hello");
    expect(now).toMatchObject({ delivery: { channel: "telegram", to: "1" } });
    expect((now.body as { silent?: boolean }).silent).toBeUndefined();
  });

  test("must have a text", async () => {
    await expect(wake("  ")).rejects.toThrow("text required");
  });
});
