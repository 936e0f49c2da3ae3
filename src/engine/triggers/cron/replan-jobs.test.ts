/** Re-planning the jobs: every page of them, a job that changes at the same time, and which jobs need it. */
import { describe, expect, test } from "vitest";
import { type LogLine, recordingLog } from "../../../../test/kit/log.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import { replanJobs } from "./replan-jobs.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse("2026-01-05T09:00:00Z");
const nine = (zone: string, more: Partial<CronJob> = {}): CronJob =>
  ({
    id: "j",
    enabled: true,
    schedule: { kind: "cron", expr: "0 9 * * *" },
    zone,
    version: 1,
    state: { nextRunAtMs: Date.parse("2026-01-06T09:00:00Z"), consecutiveErrors: 2 },
    ...more,
  }) as CronJob;

function open(jobs: readonly CronJob[], refused = 0) {
  const known = new Map(jobs.map((job) => [job.id, job]));
  const commits: (readonly Op[])[] = [];
  const lines: LogLine[] = [];
  const pages: unknown[] = [];
  const seen = { tries: 0, onRefused: (): void => {} };
  const store = {
    jobs: async ({ limit, after }: { limit: number; after: string }) => {
      pages.push({ limit, after });
      return jobs.filter(({ id }) => id > after).slice(0, limit);
    },
    job: async (id: string) => known.get(id),
    outcome: async () => undefined,
    commit: async ({ ops }: { ops: readonly Op[] }) => {
      seen.tries += 1;
      if (seen.tries <= refused) {
        seen.onRefused();
        return { ok: false, detail: "the job has changed" };
      }
      commits.push(ops);
      return { ok: true, results: [] };
    },
  };
  const ports = { store, clock: { now: () => NOW }, ids: { change: () => "c" }, log: recordingLog(lines) } as never;
  const replan = (zone: string, aheadMs?: number) =>
    replanJobs(ports, { zone, setBack: aheadMs === undefined ? undefined : { aheadMs } });
  return { replan, commits, lines, pages, seen, known };
}

describe("all jobs", () => {
  const id = (n: number) => `j${String(n).padStart(4, "0")}`;
  test.each([
    [499, [""]],
    [500, ["", id(499)]],
    [600, ["", id(499)]],
    [0, [""]],
  ])("of %i are read in pages of 500", async (count, afters) => {
    const jobs = Array.from({ length: count }, (_none, n) =>
      nine(n % 100 === 99 ? "UTC" : "Asia/Tokyo", { id: id(n) }),
    );
    const { replan, commits, pages } = open(jobs);
    await replan("Asia/Tokyo");
    expect(commits).toHaveLength(Math.floor(count / 100));
    expect(pages).toEqual(afters.map((after) => ({ limit: 500, after })));
  });

  test("that fit are left alone, and one that is changed is told", async () => {
    const { replan, commits, lines } = open([nine("UTC"), nine("Asia/Tokyo", { id: "k" })]);
    await replan("Asia/Tokyo");
    expect(commits).toMatchObject([[{ op: "job.put", job: { id: "j", zone: "Asia/Tokyo" }, expect: 1 }]]);
    const nextRunAtMs = Date.parse("2026-01-06T00:00:00Z");
    expect(lines).toMatchObject([{ level: "info", fields: { job: "j", zone: "Asia/Tokyo", nextRunAtMs } }]);
  });
});

describe("a job that changes at the same time", () => {
  test.each([
    [1, 2],
    [4, 5],
  ])("is read again after %i refusals", async (refused, tries) => {
    const { replan, seen, commits, known } = open([nine("UTC")], refused);
    seen.onRefused = () => known.set("j", nine("UTC", { version: 7, name: "edited" }));
    await replan("Asia/Tokyo");
    expect(seen.tries).toBe(tries);
    expect(commits).toMatchObject([[{ job: { name: "edited" }, expect: 7 }]]);
  });

  test("more than four times is an error, so that it is tried later", async () => {
    const { replan, seen, lines } = open([nine("UTC")], 9);
    await expect(replan("Asia/Tokyo")).rejects.toMatchObject({ code: "conflict", message: "the job has changed" });
    expect([seen.tries, lines]).toEqual([5, []]);
  });

  test.each([
    ["fits now", nine("Asia/Tokyo")],
    ["is gone", undefined],
  ])("and then %s is left alone", async (_what, now) => {
    const { replan, seen, commits, known } = open([nine("UTC")], 1);
    seen.onRefused = () => {
      if (now) known.set("j", now);
      else known.delete("j");
    };
    await replan("Asia/Tokyo");
    expect([seen.tries, commits]).toEqual([1, []]);
  });
});

describe("a job needs another plan", () => {
  const every = (everyMs: number, next: number, anchorMs = NOW - 90 * HOUR): Partial<CronJob> => ({
    schedule: { kind: "every", everyMs, anchorMs },
    state: { nextRunAtMs: NOW + next },
  });
  const next = Date.parse("2026-01-06T09:00:00Z");
  const tokyo = Date.parse("2026-01-06T00:00:00Z");

  test.each<readonly [string, Partial<CronJob>, number | undefined, string | undefined]>([
    ["planned in another zone", {}, undefined, "time zone changed"],
    ["planned in this zone", { zone: "Asia/Tokyo" }, undefined, undefined],
    ["with a zone of its own", { schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" } }, 0, undefined],
    ["that is off", { enabled: false }, undefined, undefined],
    ["without a next time", { state: {} }, undefined, undefined],
    [
      "of an older program, due at that time here",
      { zone: undefined, state: { nextRunAtMs: tokyo } },
      undefined,
      undefined,
    ],
    [
      "of an older program, due at another",
      { zone: undefined, state: { nextRunAtMs: next } },
      undefined,
      "time zone changed",
    ],
    ["of one time", { schedule: { kind: "at", atMs: next } }, 0, undefined],
    ["of an interval, with the clock as it was", every(HOUR, 9 * HOUR), undefined, undefined],
    ["of an interval that is too far away", every(HOUR, HOUR + MINUTE + 1), 0, "clock set back"],
    ["of an interval that is a little further away", every(HOUR, HOUR + MINUTE), 0, undefined],
    ["of a short interval, two of them away", every(1_000, 2_000), 0, undefined],
    ["of a short interval, more than two away", every(1_000, 2_001), 0, "clock set back"],
    ["of an interval that fits a clock that is ahead", every(HOUR, 2 * HOUR), HOUR, undefined],
    ["of an interval that is too far away for it", every(HOUR, 3 * HOUR), HOUR, "clock set back"],
    ["of an interval whose first time is chosen", every(HOUR, 9 * HOUR, NOW + 9 * HOUR), 0, undefined],
  ])("if it is one %s", async (_what, more, aheadMs, reason) => {
    const { replan, commits } = open([nine("UTC", more)]);
    await replan("Asia/Tokyo", aheadMs);
    expect(commits).toHaveLength(reason === undefined ? 0 : 1);
    for (const op of commits.flat().filter((one) => one.op === "job.put")) {
      const { schedule, state, revision } = op.job;
      expect(state.nextRunAtMs).toBe(schedule.kind === "every" ? NOW + (aheadMs ?? 0) + schedule.everyMs : tokyo);
      expect(revision).toBe(2);
    }
  });

  test("and closes the due times that have passed, with the reason", async () => {
    const state = { nextRunAtMs: NOW - 1, consecutiveErrors: 2 };
    const { replan, commits } = open([nine("UTC", { state })]);
    await replan("Asia/Tokyo");
    expect(commits[0]).toMatchObject([
      { op: "job.slot", slot: { dueAt: NOW - 1, untilAt: NOW, count: 2, reason: "time zone changed" } },
      { op: "job.put", job: { state: { nextRunAtMs: tokyo, consecutiveErrors: 2 } } },
    ]);
  });
});
