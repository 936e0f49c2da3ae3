/** Children under all faults: crashes on either side of a spawn and its report, stops that race, trees that wait. */
import { type NamedChanges, type Scenario, TRIED_MS } from "./scenario.ts";

type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<Scenario["workload"]> };

const NEEDS = ["children", "tools", "timeouts", "model-errors"] as const;
const few = { messages: [50, 54], conversations: [5, 6], burst: [1, 4], pause: [100, 1_000] } as const;

const family = (changed: Changes): Changes => ({
  nodes: [1, 2],
  crashes: [1, 5],
  ends: ["failed", "aborted", "recorded"],
  order: "none",
  ...changed,
  needs: [...NEEDS, ...(changed.needs ?? [])],
  workload: { ...few, ...changed.workload },
});

const MIXED = {
  spawn: 0.15,
  "spawn:slow": 0.1,
  "spawn:fail": 0.06,
  "spawn:delete": 0.1,
  slow: 0.08,
  silent: 0.04,
} as const;

export const SUBAGENT_SCENARIOS: readonly NamedChanges[] = [
  [
    "children",
    "agents that start children and get one report from each, no matter which side dies",
    family({ workload: { directives: MIXED } }),
  ],
  [
    "children-busy",
    "reports to agents that are busy, in every mode, past the cap",
    family({
      crashes: [1, 4],
      needs: ["queue-modes", "commands"],
      queue: { mode: "collect", debounceMs: 300, cap: 2 },
      ends: ["failed", "aborted", "recorded", "dropped"],
      workload: {
        burst: [2, 6],
        modeChanges: [3, 6],
        threads: 2,
        directives: { ...MIXED, slow: 0.2, "tool:slow": 0.1 },
      },
    }),
  ],
  [
    "children-dropped",
    "people who drop the tasks of children before a run takes them",
    family({
      crashes: [1, 4],
      needs: ["people-acts"],
      lanes: { main: 8, subagent: 1, cron: 4, nested: 4 },
      ends: ["failed", "aborted", "recorded", "dropped"],
      peopleActs: { drops: [30, 50], edits: [0, 0] },
      workload: { messages: [30, 34], directives: { ...MIXED, spawn: 0.3 } },
    }),
  ],
  [
    "children-at-once",
    "twenty children of one agent that end at the same time, past the cap",
    family({
      crashes: [1, 4],
      needs: ["queue-modes"],
      queue: { mode: "collect", debounceMs: 200, cap: 3 },
      ends: ["failed", "dropped"],
      workload: { directives: { "spawn:many": 0.05, slow: 0.1 } },
    }),
  ],
  [
    "children-resets",
    "people who reset while children are working",
    family({ needs: ["commands"], workload: { resets: [4, 8], directives: MIXED } }),
  ],
  [
    "children-stopped",
    "trees that are stopped while children are being started, on two nodes",
    family({
      nodes: [2, 2],
      crashes: [0, 3],
      treeStops: [4, 9],
      subagents: { maxDepth: 3 },
      workload: { directives: { ...MIXED, "spawn:tree": 0.1, "spawn:slow": 0.15 } },
    }),
  ],
  [
    "children-stop-words",
    "people who send a stop while their children are working",
    family({ needs: ["commands"], workload: { stops: [4, 8], directives: { ...MIXED, "spawn:slow": 0.3 } } }),
  ],
  [
    "children-orphaned",
    "requesters that are removed while their children are working: the nearest ancestor gets the report",
    family({
      crashes: [0, 3],
      removals: [3, 7],
      subagents: { maxDepth: 3 },
      workload: { directives: { ...MIXED, "spawn:tree": 0.15 } },
    }),
  ],
  [
    "children-trees",
    "trees three deep that wait for each other with full lanes",
    family({
      crashes: [0, 4],
      subagents: { maxDepth: 3 },
      lanes: { main: 2, subagent: 1, cron: 1, nested: 1 },
      workload: {
        directives: { "spawn:tree": 0.12, await: 0.3, spawn: 0.08 },
      },
    }),
  ],
  [
    "children-timeouts",
    "children whose model does not answer in their time, and children that kill their node",
    family({
      crashes: [0, 2],
      needs: ["attempts"],
      workload: { directives: { spawn: 0.2, "spawn:stall": 0.06, "spawn:poison": 0.015 } },
      restMs: TRIED_MS,
    }),
  ],
  [
    "children-discarded",
    "a node that discards the open work of an earlier life, including children",
    family({
      nodes: [1, 1],
      crashes: [2, 5],
      needs: ["discard"],
      restore: "discard",
      ends: ["failed", "aborted", "discarded"],
      workload: { directives: { ...MIXED, "spawn:slow": 0.3 } },
    }),
  ],
  [
    "children-zombies",
    "nodes paused for longer than their lease while their children work on other nodes",
    family({
      nodes: [2, 3],
      crashes: [0, 2],
      pauses: [3, 6],
      workload: { directives: { ...MIXED, "spawn:slow": 0.2 } },
    }),
  ],
  [
    "children-sick-store",
    "commits with an unknown outcome, around spawns and reports",
    family({
      nodes: [2, 2],
      crashes: [0, 2],
      treeStops: [0, 2],
      store: { lost: 0.04, unanswered: 0.1, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.004 },
      workload: { directives: MIXED },
    }),
  ],
];
