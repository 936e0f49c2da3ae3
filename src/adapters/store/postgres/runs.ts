/** The table `runs`: reads, and how ops on it are sent. */
import type { RunBody } from "../../../core/run/run.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type HeldRunRow, heldRunOf, type RunRow, readable, runOf, type UsageRow, usageOf } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { OpForms, Wire } from "./op-form.ts";

const COLUMNS = "id, agent AS agent_id, session_id, state, attempt, step, started_at, ended_at, outcome, abort, body";
const SELECT: Statement = {
  name: "select-run",
  types: ["text"],
  text: `SELECT ${COLUMNS} FROM runs WHERE id = $1`,
};
const SELECT_OF_AGENT: Statement = {
  name: "select-runs",
  text: `SELECT ${COLUMNS} FROM runs WHERE agent = $1
  AND ($3::text IS NULL OR n < (SELECT n FROM runs WHERE id = $3)) ORDER BY n DESC LIMIT $2`,
};
const SELECT_HELD_BACK: Statement = {
  name: "select-held-back-runs",
  text: `SELECT ${COLUMNS.split(", ")
    .map((column) => `runs.${column}`)
    .join(", ")}, agents.node AS holder
FROM agents JOIN runs ON runs.id = agents.run_id AND runs.agent = agents.id
WHERE agents.busy AND NOT agents.suspended AND agents.node IS NOT NULL AND ($1::bigint IS NULL OR agents.node = $1)
  AND (runs.attempt > 1 OR runs.body LIKE '%"trial":{%')
ORDER BY runs.n`,
};
const SELECT_USAGE: Statement = {
  name: "select-usage-since",
  text: `SELECT agent AS agent_id, person, count(*) AS runs, sum(tokens)::bigint AS tokens, sum(cost) AS cost
FROM runs WHERE started_at >= $1 AND started_at < $2 GROUP BY agent, person ORDER BY agent, person`,
};

export const runReads = (
  connections: Connections,
): Pick<StoreReader, "run" | "runs" | "heldBackRuns" | "usageSince"> => ({
  run: async (id) => {
    const row = await connections.one<RunRow>(SELECT, id);
    return row && runOf(row);
  },
  runs: async (agentId, { limit, before }) =>
    (await connections.all<RunRow>(SELECT_OF_AGENT, agentId, limit, before ?? null)).map(runOf),
  heldBackRuns: async ({ limit, node }) =>
    readable(await connections.all<HeldRunRow>(SELECT_HELD_BACK, node ?? null), heldRunOf)
      .filter((run) => run !== undefined)
      .slice(0, limit),
  usageSince: async (at, until = Number.MAX_SAFE_INTEGER) =>
    (await connections.all<UsageRow>(SELECT_USAGE, at, until)).map(usageOf),
});

/** A run's body, and the values of it that have columns of their own for sums. */
export function wireBody(body: RunBody): Wire {
  const { person, usage } = body;
  return {
    body: JSON.stringify(body),
    person: typeof person === "string" ? clean(person) : undefined,
    tokens: usage?.totalTokens === undefined ? undefined : Math.trunc(usage.totalTokens),
    cost: usage?.cost?.total,
  };
}

export const runOps: OpForms<"run.open" | "run.step" | "run.amend" | "run.end" | "run.suspend" | "run.abort"> = {
  "run.open": {
    byOwner: true,
    wire: ({ runId, body }) => ({ runId: clean(runId), ...wireBody(body) }),
    batch: ({ runId, body }, { agent, at, claims, add }) => {
      claims.opens = clean(runId);
      add("opened", { run: clean(runId), agent, at, ...wireBody(body) });
    },
  },
  "run.step": {
    byOwner: true,
    wire: ({ runId, body, attempt }) => ({ runId: clean(runId), ...wireBody(body), attempt }),
    batch: ({ runId, body, attempt = 1 }, { agent, claims, add }) => {
      claims.steps = clean(runId);
      add("stepped", { run: clean(runId), agent, attempt, came: "open", ...wireBody(body) });
    },
  },
  "run.amend": { byOwner: true, wire: ({ runId, body }) => ({ runId: clean(runId), ...wireBody(body) }) },
  "run.end": {
    byOwner: true,
    wire: ({ runId, body, outcome }) => ({ runId: clean(runId), ...wireBody(body), outcome }),
    batch: ({ runId, body, outcome }, { agent, at, claims, add }) => {
      claims.ends = clean(runId);
      add("ended", { run: clean(runId), agent, outcome, at, came: "open", ...wireBody(body) });
    },
  },
  "run.suspend": { byOwner: true, wire: ({ runId, suspended }) => ({ runId: clean(runId), suspended }) },
  "run.abort": {
    wire: ({ runId, mark, fresh }) => ({ runId: clean(runId), mark: JSON.stringify(mark), fresh: fresh || undefined }),
    locks: ({ runId }) => [["runs", clean(runId)]],
  },
};
