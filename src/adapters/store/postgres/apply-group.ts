/**
 * Sends a group of changes to the database and returns a result per change (M2). One statement is one transaction, so a
 * group is applied whole or not at all. After a broken connection the server process that may still run the statement is
 * ended first; then the change ids tell what was applied, and the rest is sent again. If that cannot be found out in time,
 * each change gets a `CommitUnknownError`.
 */
import type { QueryConfig } from "pg";
import { CommitUnknownError, InvariantError, RookeryError } from "../../../core/errors.ts";
import type { Change, CommitResult, OpResult, Refusal } from "../../../core/store/change.ts";
import { applyFunctions } from "./apply-functions.ts";
import { batchWire } from "./batchable.ts";
import { outcomeOf } from "./changes.ts";
import type { Connections } from "./connections.ts";
import { explain, failureOf } from "./database-error.ts";
import { jobRanKey, readJob, readSlot } from "./jobs.ts";
import { locksOfGroup } from "./locks.ts";
import type { ReadBefore } from "./op-form.ts";
import { toWire } from "./wire.ts";

interface Applier {
  readonly connections: Connections;
  /** Whether leases are measured by the database's clock, which all nodes share, or by the changes' own times. */
  readonly databaseClock: boolean;
  /** How long to try to find out what was applied after a connection broke. */
  readonly settleMs: number;
}

type Answer =
  | { readonly ok: Readonly<Record<string, OpResult>> }
  | { readonly refused: Refusal; readonly detail: string }
  | { readonly error: string; readonly code: string };

const RETRIES = 8;

/** `batch`: one statement per table. `together`: one change after the other. `alone`: the same, each with a savepoint. */
type Mode = "batch" | "together" | "alone";

export async function applyGroup(
  applier: Applier,
  changes: readonly Change[],
  batchable: boolean,
): Promise<(CommitResult | Error)[]> {
  try {
    return await sendGroup(applier, changes, batchable ? "batch" : "together");
  } catch (error) {
    const explained = error instanceof RookeryError ? error : explain(error);
    return changes.map(() => explained);
  }
}

async function sendGroup(applier: Applier, changes: readonly Change[], mode: Mode): Promise<(CommitResult | Error)[]> {
  const { connections, databaseClock } = applier;
  let query =
    mode === "batch" ? batchQuery(changes, databaseClock) : await groupQuery(connections, changes, databaseClock, mode);
  for (let attempt = 1; ; attempt++) {
    let pid = 0;
    try {
      const rows = await connections.use("commit", async (client) => {
        pid = connections.pidOf(client);
        return (await client.query(query)).rows;
      });
      return mode === "batch" ? batchResults(changes, rows[0]?.results) : resultsOf(changes, rows[0]?.answers);
    } catch (error) {
      // Nothing was sent: there was no connection.
      if (error instanceof RookeryError) throw error;
      const failure = failureOf(error);
      if (failure === "failed") throw explain(error);
      if (failure === "unknown") return settleUnknown(applier, changes, mode, pid, error);
      if (failure === "again" && attempt <= RETRIES) {
        query = await groupQuery(connections, changes, databaseClock, mode);
        continue;
      }
      if (failure === "refused" && mode === "batch") return sendGroup(applier, changes, "together");
      if (failure === "refused" && mode === "together") return sendGroup(applier, changes, "alone");
      if (failure === "refused" || attempt > RETRIES) throw explain(error);
    }
  }
}

async function groupQuery(
  connections: Connections,
  changes: readonly Change[],
  databaseClock: boolean,
  mode: Mode,
): Promise<QueryConfig> {
  const read = await readBefore(connections, changes);
  const { names, agents, keys, runs, parents, stops, budgets, reservations, changes: wire } = toWire(changes, read);
  return {
    name: "apply-changes",
    text: `SELECT ${applyFunctions().applyChanges}($1::jsonb, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS answers`,
    values: [wire, names, agents, keys, runs, parents, stops, budgets, reservations, mode === "alone", databaseClock],
  };
}

/** Reads the jobs and slots that ops about a job's run are computed from. */
async function readBefore(connections: Connections, changes: readonly Change[]): Promise<ReadBefore> {
  const read = new Map<string, NonNullable<ReturnType<ReadBefore["get"]>>>();
  for (const op of changes.flatMap(({ ops }) => ops)) {
    if (op.op !== "job.ran" && op.op !== "job.delivered") continue;
    const job = await readJob(connections, op.jobId);
    const row = await readSlot(connections, op.jobId, op.slot);
    read.set(jobRanKey(op), { job, row });
  }
  return read;
}

function batchQuery(changes: readonly Change[], databaseClock: boolean): QueryConfig {
  const { names, agents, keys } = locksOfGroup(changes);
  return {
    name: "apply-batch",
    text: `SELECT ${applyFunctions().applyBatch}($1::jsonb, $2, $3, $4, $5) AS results`,
    values: [batchWire(changes), names, agents, keys, databaseClock],
  };
}

/** `i` is the index of a change, `o` of one of its ops. */
function batchResults(
  changes: readonly Change[],
  answers: readonly { readonly i: number; readonly o: number; readonly said: OpResult }[],
): CommitResult[] {
  const results = changes.map(({ ops }) => ops.map((): OpResult | undefined => undefined));
  for (const { i, o, said } of answers) (results[i] as (OpResult | undefined)[])[o] = said;
  return results.map((ofChange) => ({ ok: true, results: ofChange }));
}

const resultsOf = (changes: readonly Change[], answers: readonly Answer[]): (CommitResult | Error)[] =>
  answers.map((answer, index) => resultOf(answer, changes[index] as Change));

function resultOf(answer: Answer, { ops }: Change): CommitResult | Error {
  if ("refused" in answer) return { ok: false, refused: answer.refused, detail: answer.detail };
  if ("error" in answer) return new InvariantError(`The database refused a change: ${answer.error} (${answer.code})`);
  return { ok: true, results: ops.map((_, index) => answer.ok[index]) };
}

/** Finds out what was applied before a connection broke. */
async function settleUnknown(
  applier: Applier,
  changes: readonly Change[],
  mode: Mode,
  pid: number,
  cause: unknown,
): Promise<(CommitResult | Error)[]> {
  const until = performance.now() + applier.settleMs;
  for (let wait = 20; performance.now() < until; wait = Math.min(wait * 2, 500)) {
    try {
      if (!(await hasEnded(applier.connections, pid))) throw new StillRunning();
      const outcomes = await Promise.all(changes.map(({ id }) => outcomeOf(applier.connections, id)));
      const missing = changes.filter((_, index) => outcomes[index] === undefined);
      if (missing.length === 0) return outcomes as CommitResult[];
      const again = await sendGroup(applier, missing, mode);
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

class StillRunning extends InvariantError {
  constructor() {
    super("The server process of the broken connection is still running.");
  }
}

/** Ends the server process of a broken connection. True once it has ended and can no longer apply anything. */
async function hasEnded(connections: Connections, pid: number): Promise<boolean> {
  const text =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2 AND pid <> pg_backend_pid()";
  const values = [pid, connections.options.applicationName];
  return connections.use("read", async (client) => (await client.query(text, values)).rows.length === 0);
}
