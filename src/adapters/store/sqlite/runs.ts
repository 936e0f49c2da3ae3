/** The table `runs`. An agent has at most one open run (L3); an abort is a mark that every later step reads (M9). */
import type { RunId } from "../../../core/ids.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type HeldRunRow, heldRunOf, type RunRow, readable, runOf, type UsageRow, usageOf } from "../rows.ts";
import { type Applying, ownerOf, stoppedBy, touch } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";
import { removeWaitsOf } from "./waits.ts";

const COLUMNS = `runs.id, agents.id AS agent_id, runs.session_id, runs.state, runs.attempt, runs.step, runs.started_at, runs.ended_at, runs.outcome,
  runs.abort, runs.body`;
const SELECT = `SELECT ${COLUMNS}
FROM runs JOIN agents ON agents.no = runs.agent WHERE runs.id = ?`;
const SELECT_OF_AGENT = `SELECT ${COLUMNS}
FROM runs JOIN agents ON agents.no = runs.agent WHERE runs.agent = (SELECT no FROM agents WHERE id = ?)
  AND runs.n < coalesce((SELECT n FROM runs WHERE id = ?), 9223372036854775807)
ORDER BY runs.n DESC LIMIT ?`;
/** From the index of busy agents, as `busyAgents`. */
const SELECT_HELD_BACK = `SELECT ${COLUMNS}, agents.node AS holder
FROM agents JOIN runs ON runs.id = agents.run_id
WHERE (agents.waiting > 0 OR (agents.run_id IS NOT NULL AND agents.suspended = 0))
  AND agents.suspended = 0 AND agents.node IS NOT NULL AND (?1 IS NULL OR agents.node = ?1)
  AND (runs.attempt > 1 OR runs.body LIKE '%"trial":{%')
ORDER BY runs.n`;
const SELECT_GUARD = "SELECT state, step, abort FROM runs WHERE id = ?";
const SELECT_AGENT = "SELECT agent FROM runs WHERE id = ?";
const INSERT =
  "INSERT INTO runs (id, agent, session_id, state, attempt, step, started_at, body) VALUES (?, ?, ?, 'open', 1, 1, ?, ?)";
const STEP = "UPDATE runs SET step = step + 1, attempt = ?, body = ? WHERE id = ? AND state = 'open'";
const AMEND = "UPDATE runs SET body = ? WHERE id = ? AND state = 'open'";
const END =
  "UPDATE runs SET state = 'ended', step = step + 1, outcome = ?, ended_at = ?, body = ? WHERE id = ? AND state = 'open'";
const ABORT = "UPDATE runs SET abort = ? WHERE id = ? AND state = 'open' AND abort IS NULL";
/** Rows are in the order in which runs began, unless the clock jumped: the scan ends at the first row that began earlier. */
const SELECT_USAGE = `SELECT
  agents.id AS agent_id,
  json_extract(runs.body, '$.person') AS person,
  count(*) AS runs,
  sum(coalesce(json_extract(runs.body, '$.usage.totalTokens'), 0)) AS tokens,
  sum(coalesce(json_extract(runs.body, '$.usage.cost.total'), 0)) AS cost
FROM runs JOIN agents ON agents.no = runs.agent
WHERE runs.n > coalesce((SELECT n FROM runs WHERE started_at < ?1 ORDER BY n DESC LIMIT 1), 0)
  AND runs.started_at >= ?1 AND runs.started_at < ?2
GROUP BY agents.id, json_extract(runs.body, '$.person')
ORDER BY agents.id, json_extract(runs.body, '$.person')`;

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export const runReads = (db: Database): Pick<StoreReader, "run" | "runs" | "heldBackRuns" | "usageSince"> => ({
  run: async (id) => {
    const row = runRow(db, id);
    return row && runOf(row);
  },
  runs: async (agentId, { limit, before }) =>
    db.all<RunRow>(SELECT_OF_AGENT, agentId, before ?? null, limit).map(runOf),
  heldBackRuns: async ({ limit, node }) =>
    readable(db.all<HeldRunRow>(SELECT_HELD_BACK, node ?? null), heldRunOf)
      .filter((run) => run !== undefined)
      .slice(0, limit),
  usageSince: async (at, until = Number.MAX_SAFE_INTEGER) => db.all<UsageRow>(SELECT_USAGE, at, until).map(usageOf),
});

export const runRow = (db: Database, id: RunId): RunRow | undefined => db.get(SELECT, id);

/** The columns that an owner's claims about its run are checked against. */
export const runGuard = (db: Database, id: RunId): Pick<RunRow, "state" | "step" | "abort"> | undefined =>
  db.get(SELECT_GUARD, id);

export function openRun(applying: Applying, op: OpOf<"run.open">): undefined {
  const { db, change } = applying;
  const owner = ownerOf(applying);
  if (owner.run_id !== null) throw new RefusedChange("conflict", `Agent ${owner.id} has the open run ${owner.run_id}.`);
  const stopped = stoppedBy(db, owner);
  if (stopped) throw new RefusedChange("stopped", `Agent ${stopped} was stopped.`);
  db.run(INSERT, op.runId, owner.no, owner.session_id, change.at, JSON.stringify(op.body));
  owner.run_id = op.runId;
  touch(applying, owner, "all");
}

export function stepRun(applying: Applying, op: OpOf<"run.step">): undefined {
  const owner = ownerOf(applying);
  const { changes } = applying.db.run(STEP, op.attempt ?? 1, JSON.stringify(op.body), op.runId);
  if (changes !== 1 || owner.run_id !== op.runId) throw new RefusedChange("run", `Run ${op.runId} is not open.`);
  applying.touched.add(owner.no);
}

export function amendRun(applying: Applying, op: OpOf<"run.amend">): undefined {
  const owner = ownerOf(applying);
  const { changes } = applying.db.run(AMEND, JSON.stringify(op.body), op.runId);
  if (changes !== 1 || owner.run_id !== op.runId) throw new RefusedChange("run", `Run ${op.runId} is not open.`);
  applying.touched.add(owner.no);
}

export function endRun(applying: Applying, op: OpOf<"run.end">): undefined {
  const { db, change } = applying;
  const owner = ownerOf(applying);
  const { changes } = db.run(END, op.outcome, change.at, JSON.stringify(op.body), op.runId);
  if (changes !== 1 || owner.run_id !== op.runId) throw new RefusedChange("run", `Run ${op.runId} is not open.`);
  owner.run_id = null;
  owner.suspended = 0;
  // A run that ended well has ended its own waits.
  if (op.outcome !== "ok") removeWaitsOf(db, owner.id);
  touch(applying, owner, "all");
}

export function suspendRun(applying: Applying, { runId, suspended }: OpOf<"run.suspend">): undefined {
  const owner = ownerOf(applying);
  if (owner.run_id !== runId) throw new RefusedChange("run", `Run ${runId} is not open.`);
  owner.suspended = suspended ? 1 : 0;
  touch(applying, owner, "all");
}

/** Marks a run to end. No effect on a run that has ended or already has a mark. */
export function abortRun({ db, touched }: Applying, op: OpOf<"run.abort">): OpResult {
  const row = db.get<{ agent: number }>(SELECT_AGENT, op.runId);
  if (!row) throw new RefusedChange("missing", `There is no run ${op.runId}.`);
  const { changes } = db.run(ABORT, JSON.stringify(op.mark), op.runId);
  if (op.fresh && changes !== 1) throw new RefusedChange("conflict", `Run ${op.runId} has ended or has a mark.`);
  touched.add(row.agent);
  return { op: "run.abort", marked: changes === 1 };
}
