/** When a job is checked and fires, and which version of it. Without the schema library: the store needs this of a job. */
import type { CronJob } from "./job.ts";

export const versionOf = (job: CronJob): number => job.version ?? 0;
export const revisionOf = (job: CronJob): number => job.revision ?? 1;

/** The zone for the due times of a job, unless its schedule names one. `configured`: of this process now. */
export const zoneOf = (job: Pick<CronJob, "zone">, configured?: string): string | undefined => job.zone ?? configured;

/** How long after its due time a job fires: the same for the same job, spread evenly over its stagger. */
export function staggerOf({ id, staggerMs = 0 }: Pick<CronJob, "id" | "staggerMs">): number {
  if (staggerMs === 0) return 0;
  let hash = 2_166_136_261;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 16_777_619);
  return (hash >>> 0) % staggerMs;
}

/** When the scheduler must check the job next; undefined: never. The store has an index over it. */
export function wakeTimeOf(job: CronJob): number | undefined {
  const { nextRunAtMs, backoffUntilMs = 0 } = job.state;
  if (!job.enabled || nextRunAtMs === undefined) return undefined;
  return Math.max(nextRunAtMs + staggerOf(job), backoffUntilMs);
}
