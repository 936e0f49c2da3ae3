/**
 * Plans the handling of passed due times, one step per commit. Pure. Every due time is covered by exactly one step, a run or
 * a skip with its reason (L9), after any downtime.
 */
import type { CronJob, CronSchedule, MissedPolicy } from "../../../core/schedule/job.ts";
import { staggerOf, zoneOf } from "../../../core/schedule/job-times.ts";
import { computeNextRunAtMs } from "./schedule.ts";

export type DueStep =
  | {
      readonly kind: "skip";
      readonly dueAt: number;
      readonly untilAt: number;
      readonly count: number;
      readonly reason: SkipReason;
      /** The next due time without an outcome. */
      readonly nextAt: number | undefined;
    }
  | { readonly kind: "fire"; readonly dueAt: number; readonly lateMs: number; readonly nextAt: number | undefined };

/**
 * `missed`: the node was down until a later due time. `too late`: past the job's limit. `backoff`: the last runs failed. The
 * broker decides the others when it fires the job.
 */
export type SkipReason =
  | "missed"
  | "too late"
  | "backoff"
  | "overlap"
  | "gate"
  | "edited"
  | "removed"
  | "disabled"
  | "time zone changed"
  | "clock set back"
  | (string & {});

export interface DueDefaults {
  readonly missed: MissedPolicy;
  readonly maxLatenessMs?: number;
  /** How late a due time may be handled and still count as on time. */
  readonly graceMs?: number;
  readonly zone?: string;
}

/** The default of `graceMs`. */
export const DEFAULT_GRACE_MS = 60_000;
/** How many due times of a cron expression one step may cover: they must be counted one by one. */
const BATCH_SIZE = 500;

/** The next step for a job; undefined if it is not due. */
export function planDue(job: CronJob, now: number, defaults: DueDefaults): DueStep | undefined {
  const { nextRunAtMs: first, backoffUntilMs = 0 } = job.state;
  const offset = staggerOf(job);
  const until = now - offset;
  if (!job.enabled || first === undefined || first > until) return undefined;
  const { schedule } = job;
  const zone = zoneOf(job, defaults.zone);
  const { graceMs = DEFAULT_GRACE_MS } = defaults;
  const policy = job.missed ?? defaults.missed;
  const limit = job.maxLatenessMs ?? defaults.maxLatenessMs ?? Number.POSITIVE_INFINITY;
  /** The first due time, and all others before `before`. */
  const skip = (reason: SkipReason, before: number): DueStep => ({
    kind: "skip",
    reason,
    ...range(schedule, first, before, zone),
  });

  if (first < backoffUntilMs) return skip("backoff", Math.min(backoffUntilMs, until + 1));
  // Due times past the limit are skipped first.
  if (policy === "all") {
    if (until - first > limit) return skip("too late", until - limit);
  } else {
    const last = lastDue(schedule, first, until, zone);
    if (last > first) return skip("missed", last);
    const late = until - first;
    if (policy === "skip" && late > graceMs) return skip("missed", first);
    if (late > limit) return skip("too late", first);
  }
  return { kind: "fire", dueAt: first, lateMs: until - first, nextAt: computeNextRunAtMs(schedule, first, zone) };
}

/** The due times from `first` to before `before`, at most one batch for a cron expression. Never empty. */
export function range(
  schedule: CronSchedule,
  first: number,
  before: number,
  zone?: string,
): { dueAt: number; untilAt: number; count: number; nextAt: number | undefined } {
  if (schedule.kind === "every") {
    const count = Math.max(1, Math.ceil((before - first) / schedule.everyMs));
    const untilAt = first + (count - 1) * schedule.everyMs;
    return { dueAt: first, untilAt, count, nextAt: computeNextRunAtMs(schedule, untilAt, zone) };
  }
  let untilAt = first;
  let nextAt = computeNextRunAtMs(schedule, first, zone);
  let count = 1;
  for (; nextAt !== undefined && nextAt < before && count < BATCH_SIZE; count++) {
    untilAt = nextAt;
    nextAt = computeNextRunAtMs(schedule, nextAt, zone);
  }
  return { dueAt: first, untilAt, count, nextAt };
}

/** The latest passed due time; for a cron expression only within one batch. */
function lastDue(schedule: CronSchedule, first: number, until: number, zone?: string): number {
  const { untilAt, nextAt } = range(schedule, first, until + 1, zone);
  // If the batch ends before `until`, later due times exist: the whole batch was missed.
  return nextAt !== undefined && nextAt <= until ? nextAt : untilAt;
}
