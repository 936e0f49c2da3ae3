/**
 * Fits stored due times to a changed time zone and to a clock that was set back. A re-planned job begins a new revision, and
 * the passed due times of the old one are closed in the same commit (M22), so every due time has one outcome (L9).
 */

import { ConflictError } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/ports.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { submit } from "../../commit/submit.ts";
import type { SetBack } from "../clock-watch.ts";
import { type ChangedJob, type Moment, replannedJob } from "./job-changes.ts";
import { computeNextRunAtMs } from "./schedule.ts";

interface Replanning extends Required<Moment> {
  /** Set if the clock may have been set back. */
  readonly setBack: SetBack | undefined;
}

/** A smaller correction of the clock keeps the rhythm of an interval. */
const SET_BACK_MS = 60_000;
const PAGE_SIZE = 500;
const TRIES = 5;

/** Re-plans every job that needs it. Throws errors of the store; calling it again continues. */
export async function replanJobs(
  ports: Pick<Ports, "store" | "ids" | "clock" | "log">,
  { zone, setBack }: Pick<Replanning, "zone" | "setBack">,
): Promise<void> {
  const { store, clock, log } = ports;
  const replan = (job: CronJob): ChangedJob | undefined => replanned(job, { now: clock.now(), zone, setBack });
  for (let after = ""; ; ) {
    const page = await store.jobs({ limit: PAGE_SIZE, after });
    for (const found of page) {
      let changed = replan(found);
      for (let tries = 1; changed; tries++) {
        const { nextRunAtMs } = changed.job.state;
        const result = await submit(ports, "cron.replan", changed.ops);
        if (result.ok) log.info("planned the due times of a job again", { job: found.id, zone, nextRunAtMs });
        if (result.ok) break;
        if (tries >= TRIES) throw new ConflictError(result.detail);
        const now = await store.job(found.id);
        changed = now && replan(now);
      }
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE_SIZE) return;
    after = last.id;
  }
}

/** The job with due times that fit; undefined if its own fit. */
function replanned(job: CronJob, { now, zone, setBack }: Replanning): ChangedJob | undefined {
  const { schedule } = job;
  const next = job.enabled ? job.state.nextRunAtMs : undefined;
  if (next === undefined) return undefined;
  if (schedule.kind === "cron" && schedule.tz === undefined && !isPlannedIn(job, next, zone))
    return replannedJob(job, { schedule, reason: "time zone changed" }, { now, zone });
  if (schedule.kind !== "every" || !setBack) return undefined;
  // The first due time of an interval may be far away, because a person chose it.
  const { everyMs, anchorMs } = schedule;
  const from = now + setBack.aheadMs;
  if (next === anchorMs || next - from <= everyMs + Math.min(everyMs, SET_BACK_MS)) return undefined;
  return replannedJob(
    job,
    { schedule: { ...schedule, anchorMs: from }, reason: "clock set back" },
    { now: from, zone },
  );
}

/** A job of an older program does not say its zone: its next time decides. */
function isPlannedIn({ schedule, zone: planned }: CronJob, next: number, zone: string): boolean {
  return planned === undefined ? computeNextRunAtMs(schedule, next - 1, zone) === next : planned === zone;
}
