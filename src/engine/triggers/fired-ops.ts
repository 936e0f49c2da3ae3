/** The changes that are committed with the message of a due time. */
import type { CronJob } from "../../core/schedule/job.ts";
import { versionOf } from "../../core/schedule/job-times.ts";
import type { Op } from "../../core/store/change.ts";
import { firedSlot } from "./cron/job-changes.ts";
import type { Firing, JobMessage } from "./cron/job-message.ts";

/** A one-time job without another due time. */
export const isOver = (job: CronJob, nextAt: number | undefined): boolean =>
  job.schedule.kind === "at" && nextAt === undefined;

/** The ops committed with a job's message: the slot's record, and the job with its next time. */
export function firedOps(job: CronJob, firing: Firing, next: number | undefined, { body }: JobMessage): readonly Op[] {
  const { slot, dueAt, now } = firing;
  // A job that is deleted after its run has no other due time.
  const nextAt = job.deleteAfterRun ? undefined : next;
  const row = firedSlot(job, dueAt, now, slot);
  const { runningAtMs: _, ...state } = job.state;
  const expect = versionOf(job);
  if (body.kind === "trigger") {
    const fired = { ...job, state: { ...state, nextRunAtMs: nextAt, runningAtMs: now } };
    return [
      { op: "job.slot", slot: row },
      { op: "job.put", job: fired, expect },
    ];
  }
  // A silent message has no run: its slot ends at once.
  const ended = { ...row, end: { at: now, status: "recorded", delivery: { status: "none" } } } as const;
  const recorded: CronJob = {
    ...job,
    enabled: job.enabled && !isOver(job, nextAt),
    state: { ...state, nextRunAtMs: nextAt, lastRunAtMs: now, lastStatus: "ok", consecutiveErrors: 0 },
  };
  return [
    { op: "job.slot", slot: ended },
    job.deleteAfterRun ? { op: "job.remove", id: job.id, expect } : { op: "job.put", job: recorded, expect },
  ];
}
