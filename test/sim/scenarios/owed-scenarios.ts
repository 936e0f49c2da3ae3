/** Scenarios in which no connector takes an answer: mailboxes with readers, and a channel that exists only after the faults. */
import type { NamedChanges, Scenario, WorkloadShape } from "./scenario.ts";

type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> };

const owed = (changed: Changes): Changes => ({
  needs: ["mailboxes", "triggers", "tools", "children"],
  ...changed,
  ends: ["failed", "recorded"],
  workload: { conversations: [6, 8], ...changed.workload },
});

export const OWED_SCENARIOS: readonly NamedChanges[] = [
  [
    "mailboxes",
    "people read and acknowledge through a node that dies in between",
    owed({
      crashes: [3, 8],
      workload: { routes: ["own", "api"], directives: { silent: 0.05, "tool:send": 0.1, spawn: 0.05 } },
    }),
  ],
  [
    "mailbox-nodes",
    "readers of a mailbox on several nodes, with a failing store",
    owed({
      nodes: [2, 3],
      crashes: [2, 6],
      pauses: [0, 2],
      store: { lost: 0.04, unanswered: 0.1, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.002 },
      workload: { routes: ["own", "api"] },
    }),
  ],
  [
    "no-route",
    "answers and jobs that nobody can be reached for until a connector exists",
    owed({
      crashes: [2, 6],
      jobs: { count: [2, 4], everyMs: [3_000, 9_000], edits: [0, 2], deliver: true },
      workload: { routes: ["own", "later", "later"], directives: { silent: 0.05, "tool:send": 0.1 } },
    }),
  ],
  [
    "no-route-nodes",
    "the same on several nodes, which queue the same deliveries when the connector exists",
    owed({
      nodes: [2, 3],
      crashes: [1, 5],
      order: "none",
      jobs: { count: [2, 3], everyMs: [4_000, 9_000], edits: [0, 1], deliver: true },
      workload: { routes: ["own", "later", "later"] },
    }),
  ],
];
