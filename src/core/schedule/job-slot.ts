/**
 * A slot is one due time of a trigger (job, schedule revision, due time) or one request of a person. It has exactly one row:
 * fired, with the result of its run and its deliveries, or skipped with the reason (L9, M22). One row of skips may stand for
 * a range.
 */

import type { AgentId, DeliveryId, RunId } from "../ids.ts";
import type { RunOutcome } from "../run/run.ts";
import type { CronJob } from "./job.ts";
import { revisionOf } from "./job-times.ts";

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
  /** The result of the slot, once its message has ended. */
  readonly end?: SlotEnd;
}

type SlotDeliveryStatus = "none" | "owed" | "unroutable" | "suppressed" | "sent" | "failed" | "unconfirmed";

/** How a slot's run ended, and how its deliveries ended. */
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
  /** `none`: nothing to send. `owed`: until the outbox has the result. `unroutable`: until there is a route (M26). */
  readonly delivery: { readonly status: SlotDeliveryStatus; readonly reason?: string };
  readonly deliveryIds?: readonly DeliveryId[];
  readonly cost?: number;
}

export const MANUAL_SLOT = "manual@";

export const slotName = (job: CronJob, dueAt: number): string => `${revisionOf(job)}@${dueAt}`;

/** The end of a run, for its job. */
export interface JobRunEnd extends SlotEnd {
  /** Whether it counts as a failure: of the run, or of a delivery that was not best effort. */
  readonly failed: boolean;
  /** A person asked for this run; the schedule does not change. */
  readonly manual?: boolean;
}

/** The end of a delivery that belongs to a slot. */
export interface SlotDelivered {
  readonly at: number;
  readonly status: "sent" | "failed" | "unconfirmed" | "unroutable";
  readonly reason?: string;
  /** Whether that counts as a failure of the job. */
  readonly failed: boolean;
}

/** Waits after the first, second, … failure in a row. */
const FAILURE_BACKOFF_MS: readonly number[] = [30_000, 60_000, 300_000, 900_000, 3_600_000];
/** `errors`: at least one. */
const waitAfter = (errors: number): number =>
  FAILURE_BACKOFF_MS[Math.min(errors, FAILURE_BACKOFF_MS.length) - 1] as number;
/** Failures in a row after which the person gets a message, and after which the job is turned off. */
export const ALERT_AFTER = 2;
export const DISABLE_AFTER = 10;

/** The job after a run's end; undefined if it is removed. Pure, so that every store does the same inside its commit. */
export function jobAfterRun(job: CronJob, end: JobRunEnd): CronJob | undefined {
  const { runningAtMs: _, backoffUntilMs: __, lastError: ___, deliveryErrors, ...before } = job.state;
  // A successful run does not clear failed deliveries while the result of its own delivery is unknown.
  const { status: sent } = end.delivery;
  const unsettled = sent === "owed" || sent === "unroutable" ? (deliveryErrors ?? 0) : 0;
  const errors = end.failed ? (job.state.consecutiveErrors ?? 0) + 1 : unsettled;
  const over = !end.manual && (job.schedule.kind === "at" || job.deleteAfterRun === true);
  // A job from a file stays in the store, so that the file does not create it again.
  if (over && !end.failed && job.deleteAfterRun && !job.file) return undefined;
  const tooMany = errors >= DISABLE_AFTER;
  return {
    ...job,
    enabled: job.enabled && !over && !tooMany,
    state: {
      ...before,
      lastRunAtMs: end.startedAt ?? before.lastRunAtMs,
      lastDurationMs: end.durationMs ?? before.lastDurationMs,
      lastStatus: end.failed ? "error" : end.status === "dropped" ? "skipped" : "ok",
      lastError: end.error,
      lastDeliveryStatus: end.delivery.status,
      consecutiveErrors: errors,
      deliveryErrors: !end.failed && unsettled > 0 ? unsettled : undefined,
      backoffUntilMs: end.failed && !over ? end.at + waitAfter(errors) : undefined,
      disabledReason: tooMany ? `${errors} failures in a row` : before.disabledReason,
      spent: end.cost === undefined ? before.spent : addSpent(before.spent, end.at, end.cost),
    },
  };
}

/** The slot's row after a delivery of its run has ended. If one of several failed, the slot's delivery failed. */
export function slotAfterDelivery(slot: JobSlot, { status, reason }: SlotDelivered): JobSlot {
  if (!slot.end || !isOpen(slot)) return slot;
  return { ...slot, end: { ...slot.end, delivery: { status, reason } } };
}

/** Whether a delivery of the slot has not ended yet. */
const isOpen = ({ end }: JobSlot): boolean => {
  const status = end?.delivery.status;
  return status === "owed" || status === "sent" || status === "unroutable";
};

/** The job after a delivery of its last run has ended. A failure counts like one of the run; a success clears earlier ones. */
export function jobAfterDelivery(job: CronJob, slot: JobSlot | undefined, delivered: SlotDelivered): CronJob {
  if (!slot || !isOpen(slot)) return job;
  const state = { ...job.state, lastDeliveryStatus: delivered.status };
  if (!delivered.failed) {
    if (delivered.status !== "sent" || !state.deliveryErrors) return { ...job, state };
    const { deliveryErrors: _, backoffUntilMs: __, lastError: ___, ...rest } = state;
    return { ...job, state: { ...rest, lastStatus: "ok", consecutiveErrors: 0 } };
  }
  const errors = (state.consecutiveErrors ?? 0) + 1;
  const tooMany = errors >= DISABLE_AFTER;
  return {
    ...job,
    enabled: job.enabled && !tooMany,
    state: {
      ...state,
      lastStatus: "error",
      lastError: `The delivery failed: ${delivered.reason ?? delivered.status}`,
      consecutiveErrors: errors,
      deliveryErrors: errors,
      backoffUntilMs: job.enabled ? delivered.at + waitAfter(errors) : state.backoffUntilMs,
      disabledReason: tooMany ? `${errors} failures in a row` : state.disabledReason,
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
