/**
 * Sends a group of changes to the database and says what became of each (M2). One statement is one transaction, so a
 * group is applied whole or not at all. After a broken connection the server process that may still be at it is ended
 * first; then the change ids say what was applied, and what was not is sent again. Where even that cannot be found out in
 * time, each change is answered with `CommitUnknownError`.
 */

import type { QueryConfig } from "pg";
import { CommitUnknownError, InvariantError, RookeryError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { Change, CommitResult, OpResult, Refusal } from "../../../core/store/change.ts";
import { plainWire } from "./batchable.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { explain, failureOf } from "./database-error.ts";
import { jobRanKey, locksOfGroup } from "./locks.ts";
import { applyFunctions } from "./sql-text.ts";
import { toWire } from "./wire.ts";
import type { ReadBefore } from "./wire-op.ts";

export interface Applier {
  readonly connections: Connections;
  /** Whether leases are measured by the database's clock, which all nodes share, or by the changes' own times. */
  readonly databaseClock: boolean;
  /** How long to try to find out what a broken connection left. */
  readonly settleMs: number;
}

type Answer =
  | { readonly ok: Readonly<Record<string, OpResult>> }
  | { readonly refused: Refusal; readonly detail: string }
  | { readonly error: string; readonly code: string };

const RETRIES = 8;

type Way = "plain" | "together" | "alone";

export async function applyGroup(
  applier: Applier,
  changes: readonly Change[],
  plain: boolean,
): Promise<(CommitResult | Error)[]> {
  try {
    return await sendGroup(applier, changes, plain ? "plain" : "together");
  } catch (error) {
    const told = error instanceof RookeryError ? error : explain(error);
    return changes.map(() => told);
  }
}

async function sendGroup(applier: Applier, changes: readonly Change[], way: Way): Promise<(CommitResult | Error)[]> {
  const { connections, databaseClock } = applier;
  let query =
    way === "plain" ? plainQuery(changes, databaseClock) : await groupQuery(connections, changes, databaseClock, way);
  for (let attempt = 1; ; attempt++) {
    let pid = 0;
    try {
      const rows = await connections.use("commit", async (client) => {
        pid = connections.pidOf(client);
        return (await client.query(query)).rows;
      });
      return way === "plain" ? plainResults(changes, rows[0]?.said) : resultsOf(changes, rows[0]?.answers);
    } catch (error) {
      // Nothing was sent: there was no connection to send it over.
      if (error instanceof RookeryError) throw error;
      const failure = failureOf(error);
      if (failure === "failed") throw explain(error);
      if (failure === "unknown") return settleUnknown(applier, changes, way, pid, error);
      if (failure === "again" && attempt <= RETRIES) {
        query = await groupQuery(connections, changes, databaseClock, way);
        continue;
      }
      if (failure === "refused" && way === "plain") return sendGroup(applier, changes, "together");
      if (failure === "refused" && way === "together") return sendGroup(applier, changes, "alone");
      if (failure === "refused" || attempt > RETRIES) throw explain(error);
    }
  }
}

async function groupQuery(
  connections: Connections,
  changes: readonly Change[],
  databaseClock: boolean,
  way: Way,
): Promise<QueryConfig> {
  const read = await readBefore(connections, changes);
  const { names, agents, keys, runs, parents, stops, budgets, reservations, changes: told } = toWire(changes, read);
  return {
    name: "apply-changes",
    text: `SELECT ${applyFunctions().applyChanges}($1::jsonb, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS answers`,
    values: [told, names, agents, keys, runs, parents, stops, budgets, reservations, way === "alone", databaseClock],
  };
}

/** What the end of a job's run is worked out from. */
async function readBefore(connections: Connections, changes: readonly Change[]): Promise<ReadBefore> {
  const read = new Map<string, { job?: CronJob; row?: JobSlot }>();
  for (const { ops } of changes) {
    for (const op of ops) {
      if (op.op !== "job.ran" && op.op !== "job.delivered") continue;
      const [job] = await connections.rows("select-job", [clean(op.jobId)]);
      const [row] = await connections.rows("select-job-slot", [clean(op.jobId), clean(op.slot)]);
      read.set(jobRanKey(op), {
        ...(job ? { job: JSON.parse(job.job as string) as CronJob } : {}),
        ...(row ? { row: JSON.parse(row.row as string) as JobSlot } : {}),
      });
    }
  }
  return read;
}

function plainQuery(changes: readonly Change[], databaseClock: boolean): QueryConfig {
  const { names, agents, keys } = locksOfGroup(changes);
  return {
    name: "apply-plain",
    text: `SELECT ${applyFunctions().applyBatch}($1::jsonb, $2, $3, $4, $5) AS said`,
    values: [plainWire(changes), names, agents, keys, databaseClock],
  };
}

function plainResults(
  changes: readonly Change[],
  told: readonly { readonly i: number; readonly o: number; readonly said: OpResult }[],
): CommitResult[] {
  const results = changes.map(({ ops }) => ops.map((): OpResult | undefined => undefined));
  for (const { i, o, said } of told) (results[i] as (OpResult | undefined)[])[o] = said;
  return results.map((said) => ({ ok: true, results: said }));
}

const resultsOf = (changes: readonly Change[], answers: readonly Answer[]): (CommitResult | Error)[] =>
  answers.map((answer, index) => resultOf(answer, changes[index] as Change));

function resultOf(answer: Answer, { ops }: Change): CommitResult | Error {
  if ("refused" in answer) return { ok: false, refused: answer.refused, detail: answer.detail };
  if ("error" in answer) return new InvariantError(`The database refused a change: ${answer.error} (${answer.code})`);
  return { ok: true, results: ops.map((_, index) => answer.ok[index]) };
}

/** Finds out what a broken connection left behind. */
async function settleUnknown(
  applier: Applier,
  changes: readonly Change[],
  way: Way,
  pid: number,
  cause: unknown,
): Promise<(CommitResult | Error)[]> {
  const until = performance.now() + applier.settleMs;
  for (let wait = 20; performance.now() < until; wait = Math.min(wait * 2, 500)) {
    try {
      if (!(await ended(applier.connections, pid))) throw new StillRunning();
      const outcomes = await Promise.all(changes.map(({ id }) => outcomeOf(applier.connections, id)));
      const missing = changes.filter((_, index) => outcomes[index] === undefined);
      if (missing.length === 0) return outcomes as CommitResult[];
      const again = await sendGroup(applier, missing, way);
      return outcomes.map((outcome, index) => outcome ?? (again[missing.indexOf(changes[index] as Change)] as Error));
    } catch {
      if (applier.connections.closed) break;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  const text = cause instanceof Error ? cause.message : String(cause);
  const unknown = new CommitUnknownError(`The connection to the database broke during a commit: ${text}.`, {
    cause,
    hint: "Whether it was applied is looked up when the database answers again.",
  });
  return changes.map(() => unknown);
}

/** The server process of a broken connection is still being ended. */
class StillRunning extends InvariantError {
  constructor() {
    super("The server process of the broken connection is still there.");
  }
}

/** Ends the server process of a connection that broke; true once it is gone and can apply nothing any more. */
async function ended(connections: Connections, pid: number): Promise<boolean> {
  const text =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2 AND pid <> pg_backend_pid()";
  const values = [pid, connections.options.applicationName];
  return connections.use("read", async (client) => (await client.query(text, values)).rows.length === 0);
}

/** What became of a change, or undefined where it was not applied. */
export async function outcomeOf(connections: Connections, id: ChangeId): Promise<CommitResult | undefined> {
  const [row] = await connections.rows("select-change", [id]);
  if (!row) return undefined;
  if (row.result === null) return { ok: true, results: [] };
  const said = JSON.parse(row.result as string) as Record<string, OpResult> & { readonly ops: number };
  return { ok: true, results: Array.from({ length: said.ops }, (_, index) => said[index]) };
}
