/**
 * Changes of jobs as ops, each over the version that was read. An edit of the schedule closes the old revision's due times
 * in the same commit (M22).
 */

import { defined } from "../../../core/defined.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { type CronJob, type CronSchedule, defaultWakeMode } from "../../../core/schedule/job.ts";
import { type JobSlot, slotName } from "../../../core/schedule/job-slot.ts";
import { revisionOf, versionOf, zoneOf } from "../../../core/schedule/job-times.ts";
import type { Op } from "../../../core/store/change.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { anchored, type CronJobCreate, type CronJobPatch, checkedTarget } from "./normalize-job.ts";
import { range, type SkipReason } from "./plan-due.ts";
import { checkSchedule, computeNextRunAtMs } from "./schedule.ts";

export interface ChangedJob {
  readonly job: CronJob;
  readonly ops: readonly Op[];
}

/** Where a job is created: its "main" session is that conversation. */
export interface JobMaker {
  readonly profile?: string;
  readonly sessionKey?: string;
  readonly delivery?: DeliveryContext;
  /** Who the job runs for. A tool leaves it out: its run adds its own (M30). */
  readonly behalf?: Behalf;
}

export interface Moment {
  readonly now: number;
  readonly zone?: string;
}

export function addedJob(id: string, create: CronJobCreate, by: JobMaker, { now, zone }: Moment): ChangedJob {
  const { enabled = true, payload, wakeMode = defaultWakeMode(payload), ...rest } = create;
  const schedule = anchored(create.schedule, now);
  checkSchedule(schedule, now, zone);
  const nextRunAtMs = enabled ? computeNextRunAtMs(schedule, now, zone) : undefined;
  const job: CronJob = {
    ...rest,
    id,
    ...defined({ agentId: by.profile, sessionKey: by.sessionKey, behalf: by.behalf }),
    enabled,
    createdAtMs: now,
    updatedAtMs: now,
    schedule,
    zone: plannedZone(schedule, zone),
    sessionTarget: checkedTarget(payload, create.sessionTarget),
    wakeMode,
    payload,
    revision: 1,
    state: { nextRunAtMs },
  };
  return { job, ops: [{ op: "job.put", job, expect: 0 }] };
}

export function editedJob(before: CronJob, patch: CronJobPatch, moment: Moment): ChangedJob {
  const { now, zone } = moment;
  const payload = patch.payload ?? before.payload;
  const target =
    patch.sessionTarget ??
    (patch.payload && patch.payload.kind !== before.payload.kind ? undefined : before.sessionTarget);
  const schedule = patch.schedule ? anchored(keepAnchor(patch.schedule, before), now) : before.schedule;
  const enabled = patch.enabled ?? before.enabled;
  const rescheduled = JSON.stringify(schedule) !== JSON.stringify(before.schedule) || enabled !== before.enabled;
  const { nextRunAtMs, disabledReason, consecutiveErrors, backoffUntilMs, ...kept } = before.state;
  if (rescheduled && enabled) checkSchedule(schedule, now, zone);
  const next = enabled ? computeNextRunAtMs(schedule, now, zone) : undefined;
  const job: CronJob = {
    ...before,
    ...patch,
    payload,
    schedule,
    zone: rescheduled ? plannedZone(schedule, zone) : before.zone,
    enabled,
    sessionTarget: checkedTarget(payload, target),
    updatedAtMs: now,
    revision: revisionOf(before) + (rescheduled ? 1 : 0),
    // A change resets the failures, so that the job is not held back by them.
    state: rescheduled ? { ...kept, nextRunAtMs: next } : before.state,
  };
  const slots = rescheduled ? closeDueTimes(before, enabled ? "edited" : "disabled", moment) : [];
  return { job, ops: [...slots, { op: "job.put", job, expect: versionOf(before) }] };
}

/** Plans the due times again, in another zone or from another moment. Failures and settings stay. */
export function replannedJob(
  before: CronJob,
  to: { readonly schedule: CronSchedule; readonly reason: SkipReason },
  moment: Moment,
): ChangedJob {
  const { now, zone } = moment;
  const { schedule, reason } = to;
  const job: CronJob = {
    ...before,
    schedule,
    zone: plannedZone(schedule, zone),
    updatedAtMs: now,
    revision: revisionOf(before) + 1,
    state: { ...before.state, nextRunAtMs: computeNextRunAtMs(schedule, now, zone) },
  };
  const slots = closeDueTimes(before, reason, moment);
  return { job, ops: [...slots, { op: "job.put", job, expect: versionOf(before) }] };
}

/** The zone that a revision keeps; undefined if its schedule needs none or names its own. */
const plannedZone = (schedule: CronSchedule, zone = hostZone()): string | undefined =>
  schedule.kind === "cron" && schedule.tz === undefined ? zone : undefined;

/** The same interval keeps its rhythm. */
const keepAnchor = (schedule: CronJob["schedule"], { schedule: before }: CronJob): CronJob["schedule"] =>
  schedule.kind === "every" &&
  before.kind === "every" &&
  schedule.everyMs === before.everyMs &&
  schedule.anchorMs === undefined
    ? before
    : schedule;

export const removedJob = (job: CronJob, moment: Moment): readonly Op[] => [
  ...closeDueTimes(job, "removed", moment),
  { op: "job.remove", id: job.id, expect: versionOf(job) },
];

/** Skips the due times that have passed without an outcome, as few rows as possible. */
function closeDueTimes(job: CronJob, reason: SkipReason, { now, zone }: Moment): readonly Op[] {
  const slots: Op[] = [];
  for (let first = job.enabled ? job.state.nextRunAtMs : undefined; first !== undefined && first <= now; ) {
    const { nextAt, ...covered } = range(job.schedule, first, now + 1, zoneOf(job, zone));
    slots.push({ op: "job.slot", slot: skippedSlot(job, { ...covered, reason }, now) });
    first = nextAt;
  }
  return slots;
}

export function skippedSlot(
  job: CronJob,
  covered: { readonly dueAt: number; readonly untilAt: number; readonly count: number; readonly reason: SkipReason },
  at: number,
): JobSlot {
  const { dueAt, untilAt, count, reason } = covered;
  return {
    jobId: job.id,
    slot: slotName(job, dueAt),
    revision: revisionOf(job),
    dueAt,
    untilAt: count > 1 ? untilAt : undefined,
    count,
    status: "skipped",
    reason,
    at,
  };
}

export const firedSlot = (job: CronJob, dueAt: number, at: number, slot = slotName(job, dueAt)): JobSlot => ({
  jobId: job.id,
  slot,
  revision: revisionOf(job),
  dueAt,
  count: 1,
  status: "fired",
  at,
});
