/**
 * The notices to the person of a job that fails, ends without a run, or is turned off (M46). A one-time job has no second time, so
 * its notice also contains its text.
 */
import { shortened } from "../../../core/cut-text.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import { ALERT_AFTER, DISABLE_AFTER, type JobRunEnd } from "../../../core/schedule/job-slot.ts";
import { sentence } from "../../../core/sentence.ts";
import { wallTime } from "./describe-schedule.ts";

const MAX_WORDS = 1_000;

const nameOfJob = (job: CronJob): string => (job.system ? "The heartbeat" : `The cron job "${job.name}"`);

const isOnce = ({ schedule }: CronJob): boolean => schedule.kind === "at";

/** The text of a one-time job; empty for other jobs. */
function itsWords(job: CronJob): string {
  const { payload } = job;
  const words = (payload.kind === "systemEvent" ? payload.text : payload.message).trim();
  return isOnce(job) && words !== "" ? `\nIts text: ${shortened(words, MAX_WORDS)}` : "";
}

/**
 * About the end of a slot: two failures in a row, the failure that turns the job off, every failure of a one-time job, and a one-time
 * job whose message or run ended early. Undefined if its person needs to read nothing.
 */
export function endText(job: CronJob, end: Pick<JobRunEnd, "status" | "failed" | "manual">, why: string) {
  const name = nameOfJob(job);
  if (!end.failed) {
    const ended = end.status === "dropped" ? "did not run" : end.status === "aborted" ? "did not finish" : undefined;
    if (ended === undefined || end.manual || !isOnce(job)) return undefined;
    return `⚠️ ${name} ${ended}: ${sentence(why)}${itsWords(job)}`;
  }
  const errors = (job.state.consecutiveErrors ?? 0) + 1;
  if (errors === DISABLE_AFTER) return `⚠️ ${name} failed ${errors} times in a row and was turned off: ${why}`;
  if (errors === ALERT_AFTER) return `⚠️ ${name} failed ${errors} times in a row: ${why}`;
  return isOnce(job) ? `⚠️ ${name} failed: ${why}${itsWords(job)}` : undefined;
}

/** About a one-time job whose time passed without a run. */
export const skippedText = (job: CronJob, reason: string, dueAt: number, zone: string): string =>
  `⚠️ ${nameOfJob(job)} did not run at ${wallTime(dueAt, zone)}: ${WHY[reason] ?? sentence(reason)}${itsWords(job)}`;

const WHY: Readonly<Record<string, string>> = {
  missed: "no program was running then.",
  "too late": "it would have been too late.",
  backoff: "an earlier run failed a short time before.",
  overlap: "an earlier run was still working.",
};

export const turnedOffText = (job: CronJob, reason: string): string =>
  `⚠️ ${nameOfJob(job)} was turned off: ${reason}${itsWords(job)}`;
