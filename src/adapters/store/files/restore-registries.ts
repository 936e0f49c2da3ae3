/** Brings cron jobs, subagent runs and swarms back from their files. An item that is not valid is reported and kept in a copy. */
import type { z } from "zod";
import { subagentRunRecordSchema } from "../../../core/agent/subagent-run.ts";
import { swarmRecordSchema } from "../../../core/agent/swarm.ts";
import { RookeryError } from "../../../core/errors.ts";
import { cronJobSchema, wakeTimeOf } from "../../../core/schedule/job.ts";
import { writeSubagentRun } from "../sqlite/apply-subagent.ts";
import { JOB_RUNS_FILE, JOBS_FILE, SUBAGENTS_FILE, SWARMS_FILE } from "./layout.ts";
import { slotsIn } from "./mirror-job-runs.ts";
import { jobsIn } from "./mirror-jobs.ts";
import { parseJson } from "./parse-json.ts";
import type { Restoring } from "./restoring.ts";
import { statementsOf } from "./sqlite-source.ts";

export function restoreJobs(restoring: Restoring): number {
  const jobs = itemsOf(restoring, JOBS_FILE, cronJobSchema, (file) => jobsIn(restoring.files, file));
  for (const job of jobs) {
    restoring.db.statement("put-job").run(job.id, wakeTimeOf(job) ?? null, JSON.stringify(job));
  }
  return jobs.length;
}

/** What became of due times, as far as it was kept. */
export function restoreJobRuns({ db, files }: Restoring): number {
  const slots = slotsIn(files.read(JOB_RUNS_FILE)?.toString() ?? "");
  for (const slot of slots) db.statement("insert-job-slot").run(slot.jobId, slot.slot, slot.at, JSON.stringify(slot));
  return slots.length;
}

export function restoreSubagentRuns(restoring: Restoring): number {
  const runs = itemsOf(restoring, SUBAGENTS_FILE, subagentRunRecordSchema, (file) =>
    Object.values((file as { runs?: object }).runs ?? {}),
  );
  for (const run of runs) writeSubagentRun(restoring.db, run);
  return runs.length;
}

/** Swarms, and as their contacts those whom one of the restored agents serves; the counts begin anew. */
export function restoreSwarms(restoring: Restoring): number {
  const { db } = restoring;
  const swarms = itemsOf(restoring, SWARMS_FILE, swarmRecordSchema, (file) => (file as { swarms?: unknown }).swarms);
  for (const swarm of swarms) db.statement("put-swarm").run(swarm.nametag, JSON.stringify(swarm));
  statementsOf(db.sql)("restore-swarm-contacts").run();
  return swarms.length;
}

/** The items of a list in a file that are valid. */
export function itemsOf<Schema extends z.ZodType>(
  { files, report, keep }: Restoring,
  path: string,
  schema: Schema,
  pick: (file: object) => unknown,
): readonly z.infer<Schema>[] {
  const text = files.read(path)?.toString();
  if (text === undefined) return [];
  let whole = true;
  const items: z.infer<Schema>[] = [];
  try {
    const listed = pick(parseJson(text, path));
    for (const [index, item] of (Array.isArray(listed) ? listed : []).entries()) {
      const parsed = schema.safeParse(item);
      if (parsed.success) items.push(parsed.data);
      else {
        whole = false;
        report({
          file: path,
          reason: `Item ${index + 1} is not valid.`,
          consequence: "item-skipped",
          code: "corrupt_data",
        });
      }
    }
  } catch (error) {
    if (!(error instanceof RookeryError)) throw error;
    whole = false;
    report({ file: path, reason: error.message, consequence: "file-skipped", code: error.code });
  }
  if (!whole) keep(path);
  return items;
}
