/**
 * The tables `jobs` and `job_slots`: reads, and how ops on them are sent. What a job becomes after a run is computed here
 * from the version read before; the database refuses the result if the job has another version by then.
 */
import type { CronJob } from "../../../core/schedule/job.ts";
import { type JobSlot, jobAfterDelivery, jobAfterRun, slotAfterDelivery } from "../../../core/schedule/job-slot.ts";
import { versionOf, wakeTimeOf } from "../../../core/schedule/job-times.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readable, readablePage, type SlotRow, slotOf, storedJson } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, type Wire, whole } from "./op-form.ts";

const SELECT: Statement = { name: "select-job", text: "SELECT job FROM jobs WHERE id = $1" };
const SELECT_ALL: Statement = { name: "select-jobs", text: "SELECT job FROM jobs ORDER BY id" };
const SELECT_PAGE: Statement = {
  name: "select-jobs-page",
  text: "SELECT job FROM jobs WHERE id > $1 ORDER BY id LIMIT $2",
};
const SELECT_NEXT: Statement = {
  name: "select-next-jobs",
  text: "SELECT job FROM jobs WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY next_at LIMIT $2",
};
const SELECT_SLOT: Statement = {
  name: "select-job-slot",
  text: "SELECT row FROM job_slots WHERE job = $1 AND slot = $2",
};
const SELECT_SLOTS: Statement = {
  name: "select-job-slots",
  text: "SELECT n, row FROM job_slots WHERE job = $1 AND n < $2 ORDER BY n DESC LIMIT $3",
};

interface JobRow {
  readonly job: string;
}

const jobOf = ({ job }: JobRow): CronJob => storedJson(job);

type JobReads = "job" | "jobs" | "jobSlot" | "jobSlots" | "nextJobs";

export function jobReads(connections: Connections): Pick<StoreReader, JobReads> {
  const page = (statement: Statement, limit: number, from: string | number) =>
    readablePage(limit, jobOf, (asked) => connections.all<JobRow>(statement, from, asked));
  return {
    job: (id) => readJob(connections, id),
    jobs: async (asked) =>
      asked
        ? page(SELECT_PAGE, asked.limit, asked.after ?? "")
        : readable(await connections.all<JobRow>(SELECT_ALL), jobOf),
    nextJobs: ({ before = Number.MAX_SAFE_INTEGER, limit }) => page(SELECT_NEXT, limit, before),
    jobSlots: async (jobId, { beforeN = Number.MAX_SAFE_INTEGER, limit }) =>
      (await connections.all<SlotRow>(SELECT_SLOTS, jobId, beforeN, limit)).map(slotOf),
    jobSlot: (jobId, slot) => readSlot(connections, jobId, slot),
  };
}

export async function readJob(connections: Connections, id: string): Promise<CronJob | undefined> {
  const row = await connections.one<JobRow>(SELECT, id);
  return row && jobOf(row);
}

export async function readSlot(connections: Connections, jobId: string, slot: string): Promise<JobSlot | undefined> {
  const row = await connections.one<Pick<SlotRow, "row">>(SELECT_SLOT, jobId, slot);
  return row && storedJson(row.row);
}

/** The plain files follow job by job. */
const jobWord = (id: string): string => `job:${encodeURIComponent(id)}`;

/** Without its version, which the database adds. */
const jobText = (job: CronJob): string => JSON.stringify({ ...job, version: undefined });

/** The key of `ReadBefore`. */
export const jobRanKey = ({ jobId, slot }: { readonly jobId: string; readonly slot: string }): string =>
  JSON.stringify([jobId, slot]);

interface AfterRun {
  readonly jobId: string;
  readonly slot: string;
  /** As it was read. */
  readonly job: CronJob | undefined;
  /** What it becomes; undefined removes it. */
  readonly after: CronJob | undefined;
  readonly row: JobSlot | undefined;
}

const wireAfterRun = ({ jobId, slot, job, after, row }: AfterRun): Wire => ({
  id: clean(jobId),
  word: jobWord(jobId),
  nextAt: after && wakeTimeOf(after),
  job: after && jobText(after),
  slot: clean(slot),
  version: job ? versionOf(job) : 0,
  row: JSON.stringify(row),
});

const jobLock = (id: string): readonly Lock[] => [["names", `job ${clean(id)}`]];

export const jobOps: OpForms<"job.put" | "job.remove" | "job.slot" | "job.ran" | "job.delivered"> = {
  "job.put": {
    wire: ({ job, expect }) => ({
      id: clean(job.id),
      word: jobWord(job.id),
      nextAt: wakeTimeOf(job),
      job: jobText(job),
      expect,
    }),
    locks: ({ job }) => jobLock(job.id),
  },
  "job.remove": {
    wire: ({ id, expect }) => ({ id: clean(id), word: jobWord(id), expect }),
    locks: ({ id }) => jobLock(id),
  },
  "job.slot": {
    wire: ({ slot }) => ({
      id: clean(slot.jobId),
      slot: clean(slot.slot),
      at: whole(slot.at),
      row: JSON.stringify(slot),
    }),
    locks: ({ slot }) => [["names", `slot ${jobRanKey({ jobId: clean(slot.jobId), slot: clean(slot.slot) })}`]],
  },
  "job.ran": {
    wire: (op, _, read) => {
      const { job, row } = read.get(jobRanKey(op)) ?? {};
      const { failed: _failed, manual: _manual, ...end } = op.end;
      return wireAfterRun({ ...op, job, after: job && jobAfterRun(job, op.end), row: row && { ...row, end } });
    },
    locks: ({ jobId }) => jobLock(jobId),
  },
  "job.delivered": {
    wire: (op, _, read) => {
      const { job, row } = read.get(jobRanKey(op)) ?? {};
      const after = job && jobAfterDelivery(job, row, op.told);
      // Sent as `job.ran`: both write what the job and its slot's row become.
      return { op: "job.ran", ...wireAfterRun({ ...op, job, after, row: row && slotAfterDelivery(row, op.told) }) };
    },
    locks: ({ jobId }) => jobLock(jobId),
  },
};
