/** Each queue mode under bursts past its cap, with two routes into each agent, on one node and on two. */
import type { Config } from "../../../src/config/config-schema.ts";
import { CALM_CHANNEL } from "../world/faults.ts";
import { type Changes, type NamedChanges, type Scenario, TRIED_MS, type WorkloadShape } from "./scenario.ts";

const busy: Partial<WorkloadShape> = {
  conversations: [5, 6],
  burst: [2, 9],
  pause: [200, 2_500],
  threads: 2,
  directives: { slow: 0.1, "tool:slow": 0.1, "tool:never": 0.1, "tool:safe": 0.1 },
};
const busyAgent = (queue: Partial<Config["queue"]>, order: Scenario["order"], ends: readonly string[]): Changes => ({
  nodes: [1, 2],
  crashes: [1, 4],
  needs: ["queue-modes", "tools"],
  queue: { debounceMs: 400, cap: 4, ...queue },
  order,
  ends: ["failed", "dropped", ...ends],
  workload: busy,
});

export const QUEUE_SCENARIOS: readonly NamedChanges[] = [
  ["collect", "waiting messages become one prompt per route", busyAgent({ mode: "collect" }, "route", [])],
  [
    "followup",
    "one run each after the debounce; the oldest are dropped",
    busyAgent({ mode: "followup", drop: "old" }, "inbox", []),
  ],
  ["queue", "one run each at once; the newest are dropped", busyAgent({ mode: "queue", drop: "new" }, "inbox", [])],
  [
    "steer",
    "messages enter the active run between its steps, also a run that crashes before the next step",
    busyAgent({ mode: "steer" }, "route", []),
  ],
  [
    "steer-backlog",
    "messages enter the run while it streams, otherwise they wait",
    busyAgent({ mode: "steer-backlog" }, "route", []),
  ],
  [
    "interrupt",
    "messages end the active run, during tools and during its last commit",
    busyAgent({ mode: "interrupt" }, "none", ["aborted"]),
  ],
  [
    "people-acts",
    "people who drop messages while runs take them, and edit deliveries that failed",
    {
      ...busyAgent({ mode: "steer", cap: 100 }, "route", []),
      nodes: [1, 3],
      crashes: [2, 6],
      needs: ["queue-modes", "tools", "people-acts"],
      store: { lost: 0.04, unanswered: 0.1, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.002 },
      channel: { ...CALM_CHANNEL, refuse: 0.15 },
      peopleActs: { drops: [20, 40], edits: [10, 20] },
      workload: busy,
    },
  ],
  ...(["collect", "queue"] as const).map(
    (mode): NamedChanges => [
      `unhandled-${mode}`,
      "messages and commands whose handling throws, among others, with crashes and a store that fails",
      {
        ...busyAgent({ mode, cap: 100 }, "route", ["recorded"]),
        nodes: [1, 2],
        crashes: [2, 6],
        needs: ["queue-modes", "tools", "commands", "unhandled"],
        store: { lost: 0.04, unanswered: 0.1, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.002 },
        restMs: TRIED_MS,
        workload: { ...busy, exactly: { unhandled: [2, 5] }, badCommands: [2, 5] },
      },
    ],
  ),
  [
    "mode-changes",
    "people who change the mode while messages wait",
    {
      ...busyAgent({ mode: "collect" }, "none", ["aborted", "recorded"]),
      needs: ["queue-modes", "tools", "commands"],
      workload: { ...busy, modeChanges: [6, 12] },
    },
  ],
];
