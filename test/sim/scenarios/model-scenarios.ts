/** Scenarios of models: each class of error at each step, keys that rotate, budgets that several agents share. */
import { CALM_STORE } from "../world/faults.ts";
import type { Directive } from "../world/tokens.ts";
import type { Changes, NamedChanges } from "./scenario.ts";

/** What can go wrong with a call, and where: at the first call, behind a first tool's result, behind a second's. */
const TROUBLES: readonly Directive[] = [
  "fail:transient",
  "fail:rate",
  "fail:cut",
  "fail:down",
  "fail:auth",
  "fail:request",
  "overflow",
];
const STEPS: readonly (readonly Directive[])[] = [
  [],
  ["tool:safe", "late"],
  ["tool:safe", "tool:never", "chain", "later"],
];
const EACH_AT_EACH = TROUBLES.flatMap((trouble) => STEPS.map((step) => [trouble, ...step]));

/** Troubles come one to a message: two of them would be more than the loop bears. */
const SPENDING: Changes["workload"] = {
  conversations: [5, 5],
  children: [4, 7],
  together: [["fail:cut"], ["fail:cut"], ["fail:cut", "tool:safe", "late"], ["fail:rate"], ["fail:transient"]],
  directives: { slow: 0.05, "tool:safe": 0.1 },
};

export const MODEL_SCENARIOS: readonly NamedChanges[] = [
  [
    "error-steps",
    "each class of error at the first call, behind a first tool's result and behind a second's",
    {
      crashes: [0, 3],
      needs: ["model-errors", "tools"],
      workload: { together: EACH_AT_EACH, directives: {} },
    },
  ],
  [
    "keys",
    "several keys of two providers that reach their limits or are refused; another takes over",
    {
      nodes: [1, 2],
      crashes: [0, 3],
      needs: ["keys", "tools"],
      keys: true,
      workload: { directives: { "tool:safe": 0.1 } },
    },
  ],
  [
    "tree-budget",
    "children of one tree that spend at the same moment, until nothing is left",
    {
      nodes: [1, 2],
      crashes: [0, 4],
      needs: ["budgets", "tools"],
      budgets: { tree: { micros: 16_000 } },
      store: CALM_STORE,
      workload: SPENDING,
    },
  ],
  [
    "day-budget",
    "everybody spends from one purse, in tokens and in money, on a store that loses answers",
    {
      nodes: [1, 3],
      crashes: [1, 5],
      pauses: [0, 2],
      needs: ["budgets", "tools"],
      budgets: { day: { tokens: 26_000, micros: 90_000 }, agent: { micros: 30_000 } },
      store: { ...CALM_STORE, lost: 0.02, unanswered: 0.05, late: 0.02 },
      workload: SPENDING,
    },
  ],
  [
    "budget-aborts",
    "runs that are asked to end, people who stop, nodes that leave in peace, all of it within budgets",
    {
      nodes: [1, 2],
      crashes: [0, 2],
      drains: [0, 3],
      aborts: [10, 20],
      needs: ["budgets", "tools", "abort", "commands"],
      budgets: { person: { micros: 24_000 }, tree: { tokens: 9_000 } },
      ends: ["failed", "aborted", "recorded"],
      workload: {
        ...SPENDING,
        stops: [2, 5],
        directives: { slow: 0.1, "tool:slow": 0.05, "tool:safe": 0.1 },
      },
    },
  ],
];
