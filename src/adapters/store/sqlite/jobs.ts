/**
 * The tables `jobs` and `job_slots`. A job is written only over the version its writer read, and a due time has one row, so
 * that of two brokers that want the same due time one wins and the other's whole change is refused (L9, M22).
 */
import type { CronJob } from "../../../core/schedule/job.ts";
import { type JobSlot, jobAfterDelivery, jobAfterRun, slotAfterDelivery } from "../../../core/schedule/job-slot.ts";
import { versionOf, wakeTimeOf } from "../../../core/schedule/job-times.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readable, readablePage, type SlotRow, slotOf, storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT job FROM jobs WHERE id = ?";
const SELECT_ALL = "SELECT job FROM jobs ORDER BY id";
const SELECT_PAGE = "SELECT job FROM jobs WHERE id > ? ORDER BY id LIMIT ?";
const SELECT_NEXT = "SELECT job FROM jobs WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ?";
const PUT =
  "INSERT INTO jobs (id, next_at, job) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, job = excluded.job";
const REMOVE = "DELETE FROM jobs WHERE id = ?";
const SELECT_SLOT = "SELECT row FROM job_slots WHERE job = ? AND slot = ?";
const SELECT_SLOTS = "SELECT n, row FROM job_slots WHERE job = ? AND n < ? ORDER BY n DESC LIMIT ?";
const INSERT_SLOT = "INSERT INTO job_slots (job, slot, at, row) VALUES (?, ?, ?, ?) ON CONFLICT (job, slot) DO NOTHING";
const UPDATE_SLOT = "UPDATE job_slots SET row = ? WHERE job = ? AND slot = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

interface JobRow {
  readonly job: string;
}

const jobOf = ({ job }: JobRow): CronJob => storedJson(job);

export function jobReads(db: Database): Pick<StoreReader, "job" | "jobs" | "jobSlot" | "jobSlots" | "nextJobs"> {
  const page = (text: string, limit: number, from: string | number) =>
    readablePage(limit, jobOf, (asked) => db.all<JobRow>(text, from, asked));
  return {
    job: async (id) => readJob(db, id),
    jobs: async (asked) =>
      asked ? page(SELECT_PAGE, asked.limit, asked.after ?? "") : readable(db.all<JobRow>(SELECT_ALL), jobOf),
    nextJobs: ({ before = Number.MAX_SAFE_INTEGER, limit }) => page(SELECT_NEXT, limit, before),
    jobSlots: async (jobId, { beforeN = Number.MAX_SAFE_INTEGER, limit }) =>
      db.all<SlotRow>(SELECT_SLOTS, jobId, beforeN, limit).map(slotOf),
    jobSlot: async (jobId, slot) => readSlot(db, jobId, slot),
  };
}

export function readJob(db: Database, id: string): CronJob | undefined {
  const row = db.get<JobRow>(SELECT, id);
  return row && jobOf(row);
}

/** Throws `CorruptDataError` if one cannot be parsed. */
export const allJobs = (db: Database): CronJob[] => db.all<JobRow>(SELECT_ALL).map(jobOf);

/** The row of a due time as JSON text. */
export const slotText = (db: Database, jobId: string, slot: string): string | undefined =>
  db.get<{ row: string }>(SELECT_SLOT, jobId, slot)?.row;

function readSlot(db: Database, jobId: string, slot: string): JobSlot | undefined {
  const text = slotText(db, jobId, slot);
  return text === undefined ? undefined : storedJson(text);
}

export function writeJob(db: Database, job: CronJob): void {
  db.run(PUT, job.id, wakeTimeOf(job) ?? null, JSON.stringify(job));
}

/** False if the due time has a row already. */
export const insertSlot = (db: Database, slot: JobSlot): boolean =>
  db.run(INSERT_SLOT, slot.jobId, slot.slot, slot.at, JSON.stringify(slot)).changes === 1;

export function putJob(applying: Applying, { job, expect }: OpOf<"job.put">): undefined {
  const before = readJob(applying.db, job.id);
  checkVersion(job.id, before, expect);
  putNextVersion(applying, job, before);
}

export function removeJob(applying: Applying, { id, expect }: OpOf<"job.remove">): undefined {
  checkVersion(id, readJob(applying.db, id), expect);
  deleteJob(applying, id);
}

export function addSlot({ db, touched }: Applying, { slot }: OpOf<"job.slot">): undefined {
  if (!insertSlot(db, slot))
    throw new RefusedChange("conflict", `Slot ${slot.slot} of job ${slot.jobId} already has a row.`);
  touched.add(slotWord(slot.jobId, slot.slot));
}

export function jobRan(applying: Applying, { jobId, slot, end }: OpOf<"job.ran">): undefined {
  const { db } = applying;
  const row = readSlot(db, jobId, slot);
  if (row) {
    const { failed: _, manual: __, ...kept } = end;
    updateSlot(applying, { ...row, end: kept }, jobId, slot);
  }
  const job = readJob(db, jobId);
  if (!job) return;
  const after = jobAfterRun(job, end);
  if (after) putNextVersion(applying, after, job);
  else deleteJob(applying, jobId);
}

export function jobDelivered(applying: Applying, { jobId, slot, told }: OpOf<"job.delivered">): undefined {
  const before = readSlot(applying.db, jobId, slot);
  if (before) updateSlot(applying, slotAfterDelivery(before, told), jobId, slot);
  const job = readJob(applying.db, jobId);
  const after = job && jobAfterDelivery(job, before, told);
  if (after && after !== job) putNextVersion(applying, after, job);
}

function checkVersion(id: string, before: CronJob | undefined, expect: number | undefined): void {
  if (expect === undefined) return;
  const version = before ? versionOf(before) : 0;
  if (version !== expect) throw new RefusedChange("conflict", `Job ${id} has version ${version}, not ${expect}.`);
}

function putNextVersion(applying: Applying, job: CronJob, before: CronJob | undefined): void {
  touchJob(applying, job.id);
  writeJob(applying.db, { ...job, version: before ? versionOf(before) + 1 : 1 });
}

function deleteJob(applying: Applying, id: string): void {
  touchJob(applying, id);
  applying.db.run(REMOVE, id);
}

function updateSlot({ db, touched }: Applying, row: JobSlot, jobId: string, slot: string): void {
  db.run(UPDATE_SLOT, JSON.stringify(row), jobId, slot);
  touched.add(slotWord(jobId, slot));
}

/** The plain files follow slot by slot, too. */
const slotWord = (jobId: string, slot: string): string =>
  `slot:${encodeURIComponent(jobId)}:${encodeURIComponent(slot)}`;

/** The plain files follow job by job. An id may be any text, and a blank would end the word. */
const touchJob = ({ touched }: Applying, id: string): void => void touched.add(`job:${encodeURIComponent(id)}`);
