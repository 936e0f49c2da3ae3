/** A report on the nodes of a shared store: which are up, which agents each owns, and how far behind it is. */
import type { Statement } from "./batched-reads.ts";
import type { Connections } from "./connections.ts";

export interface NodeReport {
  readonly node: number;
  readonly name: string;
  readonly state: "up" | "silent" | "left" | "returned";
  readonly leaseMs: number;
  /** Agents it owns, and their open runs. */
  readonly agents: number;
  readonly runs: number;
  /** Messages that wait at agents it owns, and for how long the oldest has waited. */
  readonly waiting: number;
  readonly lagMs: number;
}

export interface ClusterReport {
  readonly nodes: readonly NodeReport[];
  /** Agents with work and no live owner, and the messages that wait there. */
  readonly unheld: { readonly agents: number; readonly waiting: number };
}

/** Nodes that are up or still own work. Only owned agents are read. */
const SELECT_NODES: Statement = {
  name: "report-nodes",
  text: `WITH clock AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now),
held AS (
  SELECT agents.node, count(*) AS agents, count(run_id) AS runs, sum(waiting)::bigint AS waiting,
    max((SELECT now FROM clock) - (
      SELECT accepted_at FROM messages WHERE messages.agent = agents.id AND seq > agents.cursor AND messages.state = 'waiting' ORDER BY seq LIMIT 1
    )) AS lag_ms
  FROM agents WHERE agents.node IS NOT NULL GROUP BY agents.node
)
SELECT nodes.node, nodes.name, nodes.gone, nodes.lease_until - (SELECT now FROM clock) AS lease_ms,
  coalesce(held.agents, 0) AS agents, coalesce(held.runs, 0) AS runs, coalesce(held.waiting, 0) AS waiting, greatest(held.lag_ms, 0) AS lag_ms
FROM nodes LEFT JOIN held ON held.node = nodes.node
WHERE nodes.gone = 0 OR held.runs > 0 OR held.waiting > 0
ORDER BY nodes.node`,
};
const SELECT_UNHELD: Statement = {
  name: "report-unheld",
  text: `SELECT count(*) AS agents, coalesce(sum(waiting), 0)::bigint AS waiting FROM agents
WHERE busy AND (node IS NULL OR node NOT IN (
  SELECT node FROM nodes WHERE gone <> 1 AND lease_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
))`,
};

interface NodeReportRow {
  readonly node: number;
  readonly name: string;
  readonly gone: number;
  readonly lease_ms: number;
  readonly agents: number;
  readonly runs: number;
  readonly waiting: number;
  readonly lag_ms: number;
}

const STATES = ["up", "left", "returned"] as const;

export async function clusterReport(connections: Connections): Promise<ClusterReport> {
  const rows = await connections.all<NodeReportRow>(SELECT_NODES);
  const unheld = await connections.one<ClusterReport["unheld"]>(SELECT_UNHELD);
  return { nodes: rows.map(reportOf), unheld: unheld ?? { agents: 0, waiting: 0 } };
}

function reportOf({ node, name, gone, lease_ms, agents, runs, waiting, lag_ms }: NodeReportRow): NodeReport {
  const state = STATES[gone] ?? "left";
  return {
    node,
    name,
    state: state === "up" && lease_ms <= 0 ? "silent" : state,
    leaseMs: Math.max(0, lease_ms),
    agents,
    runs,
    waiting,
    lagMs: lag_ms,
  };
}
