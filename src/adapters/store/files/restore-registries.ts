/**
 * Restores cron jobs, subagent runs, swarms and budgets from their files. An item that is not valid is reported, and its
 * file is copied before the mirror overwrites it.
 */
import { z } from "zod";
import { subagentRunRecordSchema } from "../../../core/agent/subagent-run.ts";
import { swarmRecordSchema } from "../../../core/agent/swarm.ts";
import { RookeryError } from "../../../core/errors.ts";
import { cronJobSchema } from "../../../core/schedule/job.ts";
import { insertReservation, insertTold, writeBudget } from "../sqlite/budgets.ts";
import { insertSlot, writeJob } from "../sqlite/jobs.ts";
import { writeSubagentRun } from "../sqlite/subagent-runs.ts";
import { writeSwarm } from "../sqlite/swarms.ts";
import { BUDGETS_FILE, JOB_RUNS_FILE, JOBS_FILE, SUBAGENTS_FILE, SWARMS_FILE } from "./file-format.ts";
import { slotsIn } from "./mirror-job-runs.ts";
import { jobsIn } from "./mirror-jobs.ts";
import { parseJson } from "./read-agent-files.ts";
import type { RestoreContext } from "./restore-context.ts";

const INSERT_SWARM_CONTACTS = `INSERT INTO swarm_contacts (swarm, contact, agent, sent, received, first_at, last_at)
SELECT descriptor ->> 'id', descriptor ->> 'contact', id, 0, 0, created_at, coalesce(state ->> 'updatedAt', created_at)
FROM agents WHERE kind = 'swarm' AND descriptor ->> 'id' IN (SELECT nametag FROM swarms)`;

const amount = z.number().int();
const spend = z.object({ tokens: amount, micros: amount });
const budgetSchema = z.object({
  key: z.string().min(1),
  spent: spend,
  reserved: spend,
  lifted: spend,
  estimated: spend,
  at: amount,
});
const reservationSchema = z.object({
  id: z.string().min(1),
  runId: z.string().min(1),
  keys: z.array(z.string().min(1)),
  cost: spend,
  at: amount,
});
const toldSchema = z.object({ key: z.string().min(1), agent: z.string().min(1) });

// Each of the following returns how many items it restored.

export function restoreJobs(context: RestoreContext): number {
  const jobs = itemsOf(context, JOBS_FILE, cronJobSchema, (file) => jobsIn(context.files, file));
  for (const job of jobs) writeJob(context.db, job);
  return jobs.length;
}

/** Results of due times, as far as the file has them. */
export function restoreJobRuns({ db, files }: RestoreContext): number {
  const slots = slotsIn(files.read(JOB_RUNS_FILE)?.toString() ?? "");
  for (const slot of slots) insertSlot(db, slot);
  return slots.length;
}

export function restoreSubagentRuns(context: RestoreContext): number {
  const runs = itemsOf(context, SUBAGENTS_FILE, subagentRunRecordSchema, (file) =>
    Object.values((file as { runs?: object }).runs ?? {}),
  );
  for (const run of runs) writeSubagentRun(context.db, run);
  return runs.length;
}

/** Swarms, with a contact for each restored agent that serves one. The counters start at zero. */
export function restoreSwarms(context: RestoreContext): number {
  const { db } = context;
  const swarms = itemsOf(context, SWARMS_FILE, swarmRecordSchema, (file) => (file as { swarms?: unknown }).swarms);
  for (const swarm of swarms) writeSwarm(db, swarm);
  db.run(INSERT_SWARM_CONTACTS);
  return swarms.length;
}

export function restoreBudgets(context: RestoreContext): number {
  const { db } = context;
  const items = <Schema extends z.ZodType>(name: string, schema: Schema) =>
    itemsOf(context, BUDGETS_FILE, schema, (file) => (file as Record<string, unknown>)[name]);
  const budgets = items("budgets", budgetSchema);
  for (const budget of budgets) writeBudget(db, budget.key, budget, budget.at);
  for (const reservation of items("reservations", reservationSchema)) insertReservation(db, reservation);
  for (const told of items("told", toldSchema)) insertTold(db, told);
  return budgets.length;
}

/** The valid items of a list in a file. */
export function itemsOf<Schema extends z.ZodType>(
  { files, report, keep }: RestoreContext,
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
        const reason = `Item ${index + 1} is not valid.`;
        report({ file: path, reason, consequence: "item-skipped", code: "corrupt_data" });
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
