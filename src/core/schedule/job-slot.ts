/**
 * A slot is one due time of a trigger (job, schedule revision, due time) or one demand of a person. It yields exactly one
 * row here: fired, with what its run and its deliveries came to, or skipped with the reason (L9, M22). One row of skips may
 * stand for a range.
 */

import type { AgentId, DeliveryId, RunId } from "../ids.ts";
import type { RunOutcome } from "../run/run.ts";
import type { CronJob } from "./job.ts";
import { revisionOf } from "./job.ts";

export interface JobSlot {
  readonly jobId: string;
  /** Unique within the job: `{revision}@{due}`, `manual@{id}`, a hook's idempotency key. */
  readonly slot: string;
  readonly revision: number;
  /** The due time, or the first of a range. */
  readonly dueAt: number;
  /** The last due time of a range. */
  readonly untilAt?: number;
  /** How many due times this row stands for. */
  readonly count: number;
  readonly status: "fired" | "skipped";
  /** Why it was skipped. */
  readonly reason?: string;
  /** When the row was written. */
  readonly at: number;
  /** What the slot came to, once its message has ended. */
  readonly end?: SlotEnd;
}

export type SlotDeliveryStatus = "none" | "owed" | "suppressed" | "sent" | "failed" | "unconfirmed";

/** How a slot's run and its deliveries ended: two things. */
export interface SlotEnd {
  readonly at: number;
  /** `recorded`: a silent message that entered its conversation without a run. `dropped`: settled without a run. */
  readonly status: RunOutcome | "recorded" | "dropped";
  readonly error?: string;
  readonly agentId?: AgentId;
  readonly runId?: RunId;
  readonly startedAt?: number;
  readonly durationMs?: number;
  readonly summary?: string;
  /** `none`: nobody was to be told. `owed`: until the outbox knows what became of it. */
  readonly delivery: { readonly status: SlotDeliveryStatus; readonly reason?: string };
  readonly deliveryIds?: readonly DeliveryId[];
  readonly cost?: number;
}

export const MANUAL_SLOT = "manual@";

export const slotName = (job: CronJob, dueAt: number): string => `${revisionOf(job)}@${dueAt}`;

/** What a run's end means for its job. */
export interface JobRunEnd extends SlotEnd {
  /** Whether it counts as a failure: of the run, or of a delivery that was not best effort. */
  readonly failed: boolean;
  /** A person asked for this run; the schedule goes on as it was. */
  readonly manual?: boolean;
}

/** What became of something that was owed for a slot. */
export interface SlotDelivered {
  readonly at: number;
  readonly status: "sent" | "failed" | "unconfirmed";
  readonly reason?: string;
  /** Whether that counts as a failure of the job. */
  readonly failed: boolean;
}

/** Waits after the first, second, … failure in a row. */
export const FAILURE_BACKOFF_MS: readonly number[] = [30_000, 60_000, 300_000, 900_000, 3_600_000];
/** Failures in a row after which the person is told, and after which the job is turned off. */
export const ALERT_AFTER = 2;
export const DISABLE_AFTER = 10;

/** The job after a run's end; undefined where it is removed. Pure, so that every store does the same inside its commit. */
export function jobAfterRun(job: CronJob, end: JobRunEnd): CronJob | undefined {
  const { runningAtMs: _, backoffUntilMs: __, lastError: ___, deliveryErrors, ...before } = job.state;
  // A run that went well does not make up for deliveries that failed while nobody knows what becomes of its own.
  const draft = end.delivery.status === "owed" ? (deliveryErrors ?? 0) : 0;
  const errors = end.failed ? (job.state.consecutiveErrors ?? 0) + 1 : draft;
  const wait = FAILURE_BACKOFF_MS[Math.min(errors, FAILURE_BACKOFF_MS.length) - 1] ?? 0;
  const over = !end.manual && (job.schedule.kind === "at" || job.deleteAfterRun === true);
  // A job that stands in a file stays known, so that the file does not bring it back.
  if (over && !end.failed && job.deleteAfterRun && !job.file) return undefined;
  const tooMany = errors >= DISABLE_AFTER;
  return {
    ...job,
    enabled: job.enabled && !over && !tooMany,
    state: {
      ...before,
      ...(end.startedAt === undefined ? {} : { lastRunAtMs: end.startedAt }),
      ...(end.durationMs === undefined ? {} : { lastDurationMs: end.durationMs }),
      lastStatus: end.failed ? "error" : end.status === "dropped" ? "skipped" : "ok",
      ...(end.error === undefined ? {} : { lastError: end.error }),
      lastDeliveryStatus: end.delivery.status,
      consecutiveErrors: errors,
      ...(!end.failed && draft > 0 ? { deliveryErrors: draft } : {}),
      ...(end.failed && !over ? { backoffUntilMs: end.at + wait } : {}),
      ...(tooMany ? { disabledReason: `${errors} failures in a row` } : {}),
      ...(end.cost === undefined ? {} : { spent: addSpent(job.state.spent, end.at, end.cost) }),
    },
  };
}

/** The slot's row after a delivery of its run has ended. Where one of several failed, the others do not make up for it. */
export function slotAfterDelivery(slot: JobSlot, { status, reason }: SlotDelivered): JobSlot {
  if (!slot.end || !isOpen(slot)) return slot;
  return { ...slot, end: { ...slot.end, delivery: { status, ...(reason === undefined ? {} : { reason }) } } };
}

/** Whether something may still become of what is owed for a slot. */
const isOpen = ({ end }: JobSlot): boolean => end?.delivery.status === "owed" || end?.delivery.status === "sent";

/** The job after a delivery of its last run has ended: a failure counts as one of the run would, a success makes up for earlier ones. */
export function jobAfterDelivery(job: CronJob, slot: JobSlot | undefined, told: SlotDelivered): CronJob {
  if (!slot || !isOpen(slot)) return job;
  const state = { ...job.state, lastDeliveryStatus: told.status };
  if (!told.failed) {
    if (told.status !== "sent" || !state.deliveryErrors) return { ...job, state };
    const { deliveryErrors: _, backoffUntilMs: __, lastError: ___, ...rest } = state;
    return { ...job, state: { ...rest, lastStatus: "ok", consecutiveErrors: 0 } };
  }
  const errors = (state.consecutiveErrors ?? 0) + 1;
  const wait = FAILURE_BACKOFF_MS[Math.min(errors, FAILURE_BACKOFF_MS.length) - 1] ?? 0;
  const tooMany = errors >= DISABLE_AFTER;
  return {
    ...job,
    enabled: job.enabled && !tooMany,
    state: {
      ...state,
      lastStatus: "error",
      lastError: `The delivery failed: ${told.reason ?? told.status}`,
      consecutiveErrors: errors,
      deliveryErrors: errors,
      ...(job.enabled ? { backoffUntilMs: told.at + wait } : {}),
      ...(tooMany ? { disabledReason: `${errors} failures in a row` } : {}),
    },
  };
}

const DAY_MS = 86_400_000;

/** What was spent on one day of UTC. */
export function spentOn(spent: unknown, at: number): number {
  const { day, cost } = (spent ?? {}) as { day?: number; cost?: number };
  return day === Math.floor(at / DAY_MS) ? (cost ?? 0) : 0;
}

const addSpent = (spent: unknown, at: number, cost: number): { day: number; cost: number } => ({
  day: Math.floor(at / DAY_MS),
  cost: spentOn(spent, at) + cost,
});
