/** How the rows of nodes become a report: the state of each, and no lease below zero. */
import { expect, test } from "vitest";
import { clusterReport } from "./node-report.ts";

const ROW = { node: 3, name: "n", agents: 4, runs: 5, waiting: 6, lag_ms: 7 };
const reportOf = (rows: readonly object[], unheld?: object) =>
  clusterReport({ all: async () => rows, one: async () => unheld } as never);

test.each([
  [0, 1, "up", 1],
  [0, 0, "silent", 0],
  [0, -1, "silent", 0],
  [1, 1, "left", 1],
  [1, -1, "left", 0],
  [2, 1, "returned", 1],
  [2, -1, "returned", 0],
  // Of a newer program.
  [9, 1, "left", 1],
])("a node with the mark %i and %i ms of lease is %s", async (gone, lease_ms, state, leaseMs) => {
  const { nodes } = await reportOf([{ ...ROW, gone, lease_ms }]);
  expect(nodes).toEqual([{ node: 3, name: "n", state, leaseMs, agents: 4, runs: 5, waiting: 6, lagMs: 7 }]);
});

test("what nobody holds is told as the database counts it, and is nothing without a row", async () => {
  expect((await reportOf([], { agents: 2, waiting: 3 })).unheld).toEqual({ agents: 2, waiting: 3 });
  expect(await reportOf([])).toEqual({ nodes: [], unheld: { agents: 0, waiting: 0 } });
});
