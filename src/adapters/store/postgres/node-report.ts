/** Who works on a shared store: which nodes are up, what each holds, and how far behind it is. */
import type { Connections } from "./connections.ts";

export interface NodeReport {
  readonly node: number;
  readonly name: string;
  readonly state: "up" | "silent" | "left" | "returned";
  readonly leaseMs: number;
  /** Agents it holds, and runs open at them. */
  readonly agents: number;
  readonly runs: number;
  /** Messages that wait at agents it holds, and for how long the oldest has waited. */
  readonly waiting: number;
  readonly lagMs: number;
}

export interface ClusterReport {
  readonly nodes: readonly NodeReport[];
  /** What waits at agents nobody living holds. */
  readonly unheld: { readonly agents: number; readonly waiting: number };
}

const STATES = ["up", "left", "returned"] as const;

export async function clusterReport(connections: Connections): Promise<ClusterReport> {
  const nodes = await connections.rows("report-nodes", []);
  const [unheld] = await connections.rows("report-unheld", []);
  return {
    nodes: nodes.map((row) => {
      const leaseMs = row.lease_ms as number;
      const state = STATES[row.gone as number] ?? "left";
      return {
        node: row.node as number,
        name: row.name as string,
        state: state === "up" && leaseMs <= 0 ? "silent" : state,
        leaseMs: Math.max(0, leaseMs),
        agents: row.agents as number,
        runs: row.runs as number,
        waiting: row.waiting as number,
        lagMs: Math.max(0, row.lag_ms as number),
      };
    }),
    unheld: { agents: unheld?.agents as number, waiting: unheld?.waiting as number },
  };
}
