/**
 * Ops on jobs and their slots. A job is written only over the version its writer read, and a slot gets one row, so that of
 * two brokers that want the same due time one wins and the other's whole change is refused (L9, M22).
 */

import { type CronJob, versionOf, wakeTimeOf } from "../../../core/schedule/job.ts";
import { type JobSlot, jobAfterDelivery, jobAfterRun, slotAfterDelivery } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Applying } from "./apply-change.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export function putJob(applying: Applying, { job, expect }: OpOf<"job.put">): undefined {
  const before = jobOf(applying.db, job.id);
  checkVersion(job.id, before, expect);
  writeJob(applying, job, before);
}

export function removeJob(applying: Applying, { id, expect }: OpOf<"job.remove">): undefined {
  checkVersion(id, jobOf(applying.db, id), expect);
  touchJob(applying, id);
  applying.db.statement("remove-job").run(id);
}

export function addSlot({ db, touched }: Applying, { slot }: OpOf<"job.slot">): undefined {
  const { changes } = db.statement("insert-job-slot").run(slot.jobId, slot.slot, slot.at, JSON.stringify(slot));
  if (changes !== 1) throw new RefusedChange("conflict", `Slot ${slot.slot} of job ${slot.jobId} has its row already.`);
  touched.add(slotWord(slot.jobId, slot.slot));
}

export function jobRan(applying: Applying, { jobId, slot, end }: OpOf<"job.ran">): undefined {
  const { db } = applying;
  const row = db.statement("select-job-slot").get(jobId, slot);
  if (row) {
    const { failed: _, manual: __, ...told } = end;
    db.statement("update-job-slot").run(JSON.stringify({ ...JSON.parse(row.row as string), end: told }), jobId, slot);
    applying.touched.add(slotWord(jobId, slot));
  }
  const job = jobOf(db, jobId);
  if (!job) return;
  const after = jobAfterRun(job, end);
  if (after) return writeJob(applying, after, job);
  touchJob(applying, jobId);
  db.statement("remove-job").run(jobId);
}

export function jobDelivered(applying: Applying, { jobId, slot, told }: OpOf<"job.delivered">): undefined {
  const { db } = applying;
  const row = db.statement("select-job-slot").get(jobId, slot);
  const before = row ? (JSON.parse(row.row as string) as JobSlot) : undefined;
  if (before) {
    db.statement("update-job-slot").run(JSON.stringify(slotAfterDelivery(before, told)), jobId, slot);
    applying.touched.add(slotWord(jobId, slot));
  }
  const job = jobOf(db, jobId);
  const after = job && jobAfterDelivery(job, before, told);
  if (after && after !== job) writeJob(applying, after, job);
}

function jobOf(db: Database, id: string): CronJob | undefined {
  const row = db.statement("select-job").get(id);
  return row ? (JSON.parse(row.job as string) as CronJob) : undefined;
}

function checkVersion(id: string, before: CronJob | undefined, expect: number | undefined): void {
  if (expect === undefined) return;
  const version = before ? versionOf(before) : 0;
  if (version !== expect) throw new RefusedChange("conflict", `Job ${id} has version ${version}, not ${expect}.`);
}

/** A job nobody versioned stays without one until it is written over a version. */
function writeJob(applying: Applying, job: CronJob, before: CronJob | undefined): undefined {
  const version = before ? versionOf(before) + 1 : 1;
  touchJob(applying, job.id);
  applying.db.statement("put-job").run(job.id, wakeTimeOf(job) ?? null, JSON.stringify({ ...job, version }));
}

/** The plain files follow slot by slot, too. */
const slotWord = (jobId: string, slot: string): string =>
  `slot:${encodeURIComponent(jobId)}:${encodeURIComponent(slot)}`;

/** The plain files follow job by job: an id may be any text, a blank would end the word. */
const touchJob = ({ touched }: Applying, id: string): void => void touched.add(`job:${encodeURIComponent(id)}`);
