/** Scenarios with schedules: jobs that are often due, brokers that die and race, jobs edited while they run. */
import type { NamedChanges, Scenario, WorkloadShape } from "./scenario.ts";

type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> };

const quiet: Partial<WorkloadShape> = { messages: [50, 56], conversations: [5, 6], burst: [2, 8], pause: [200, 2_000] };
const withJobs = (changed: Changes): Changes => ({
  needs: ["triggers"],
  jobs: { count: [3, 6], everyMs: [900, 7_000], edits: [0, 4] },
  ...changed,
  ends: ["failed", "recorded", ...(changed.ends ?? [])],
  workload: { ...quiet, ...changed.workload },
});

export const TRIGGER_SCENARIOS: readonly NamedChanges[] = [
  ["schedules", "one broker that dies at any point", withJobs({ crashes: [2, 7] })],
  ["two-brokers", "brokers of two nodes on one store", withJobs({ nodes: [2, 3], crashes: [1, 5], pauses: [0, 2] })],
  [
    "schedule-edits",
    "jobs edited, turned off and on while they are due",
    withJobs({
      nodes: [1, 2],
      crashes: [1, 4],
      jobs: { count: [3, 5], everyMs: [600, 3_000], edits: [12, 25] },
    }),
  ],
  [
    "schedule-storm",
    "brokers with a failing store, jumping clocks and clean restarts",
    withJobs({
      nodes: [1, 2],
      crashes: [1, 4],
      outages: [0, 1],
      clockJumps: [1, 4],
      drains: [0, 3],
      store: { lost: 0.04, unanswered: 0.1, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.002 },
      jobs: { count: [3, 6], everyMs: [1_500, 9_000], edits: [2, 8] },
    }),
  ],
  [
    "zone-changes",
    "the configured time zone changes while nodes die: stored due times follow it",
    withJobs({
      nodes: [1, 2],
      crashes: [2, 6],
      drains: [0, 2],
      jobs: { count: [3, 5], everyMs: [1, 1], edits: [0, 3], zones: [2, 5], inspected: true },
    }),
  ],
  [
    "clocks-back",
    "clocks that are set back and forward while nodes die: intervals continue",
    withJobs({
      nodes: [1, 2],
      crashes: [1, 5],
      pauses: [0, 1],
      drains: [0, 2],
      clockJumps: [2, 6],
      jobs: { count: [3, 5], everyMs: [1_500, 9_000], edits: [0, 3], inspected: true },
    }),
  ],
];
