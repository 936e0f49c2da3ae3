/** `rookery engine nodes`: shows the nodes of a shared store, their agents and their lag. Only reads. */

import type { ClusterReport, NodeReport } from "../../../adapters/store/postgres/node-report.ts";
import { UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";
import { sharedStoreOf } from "../read-home.ts";

export const showNodes = defineAction({
  summary: "show the nodes of a shared store, their agents and their lag",
  description:
    "Needs a shared store. A node is `silent` when its lease has ended: other nodes take its agents over. The lag is the age of the oldest message that waits for one of the node's agents.",
  async run(context) {
    const url = await sharedStoreOf(context.paths);
    if (url === undefined) {
      throw new UsageError("This home has no shared store, so it has no nodes to list.", {
        hint: "Name a shared store with --store postgres://… or ROOKERY_STORE.",
      });
    }
    const { openPostgresReader } = await import("../../../adapters/store/postgres/open-reader.ts");
    const { clusterReport } = await import("../../../adapters/store/postgres/node-report.ts");
    const reader = await openPostgresReader({ url });
    try {
      const report = await clusterReport(reader.connections);
      const { nodes, unheld } = report;
      printResult(context, { ...listOf(nodes), unheld }, text(report).trimEnd());
    } finally {
      await reader.close();
    }
    return undefined;
  },
});

function text({ nodes, unheld }: ClusterReport): string {
  const head = ["node", "name", "state", "lease", "agents", "runs", "waiting", "lag"];
  const rows = [head, ...nodes.map(cells)];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  if (nodes.length === 0) lines.splice(0, 1, "No node is up.");
  if (unheld.agents > 0) lines.push(`No node holds ${unheld.agents} agents, with ${unheld.waiting} waiting messages.`);
  return `${lines.join("\n")}\n`;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const cells = ({ node, name, state, leaseMs, agents, runs, waiting, lagMs }: NodeReport): string[] => [
  ...[String(node), name, state, seconds(leaseMs), String(agents), String(runs), String(waiting), seconds(lagMs)],
];
