/** Scenarios of models: each class of error at each step, keys that rotate, budgets that several agents share. */
import { CALM_STORE } from "../world/faults.ts";
import type { TokenTree } from "../world/token-tree.ts";
import type { Directive } from "../world/tokens.ts";
import type { Changes, NamedChanges } from "./scenario.ts";

/** The errors of a call, and their place: at the first call, after the first tool result, after the second. */
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

/** One error per message: two would exceed the retries of the loop. */
const SPENDING: Changes["workload"] = {
  conversations: [5, 5],
  children: [4, 7],
  together: [["fail:cut"], ["fail:cut"], ["fail:cut", "tool:safe", "late"], ["fail:rate"], ["fail:transient"]],
  directives: { slow: 0.05, "tool:safe": 0.1 },
};

/** The first token minted two others, one of them a fourth. Everyone's limit is larger than what is left above. */
const TOKENS: TokenTree = [
  { id: "root", limit: { micros: 60_000, tokens: 60_000 }, users: ["u1"] },
  { id: "shop", mintedBy: "root", limit: { micros: 50_000, messages: 8 }, users: ["u2", "u3"] },
  { id: "bank", mintedBy: "root", limit: { micros: 50_000 }, users: ["u4"] },
  { id: "till", mintedBy: "shop", limit: { micros: 50_000 }, users: ["u5"] },
];

export const MODEL_SCENARIOS: readonly NamedChanges[] = [
  [
    "error-steps",
    "each class of error at the first call, after the first tool result and after the second",
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
    "children of one tree that spend at the same time, until the budget is used up",
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
    "all agents share one budget, in tokens and in money, on a store that loses answers",
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
    "token-tree",
    "people who write with tokens that minted each other, with children, until the first token's limit is used up",
    {
      nodes: [1, 2],
      crashes: [2, 7],
      needs: ["budgets", "tools", "children"],
      tokens: TOKENS,
      store: { ...CALM_STORE, unanswered: 0.02 },
      workload: {
        conversations: [5, 5],
        systemMessages: [0, 0],
        directives: { slow: 0.05, "tool:safe": 0.1, spawn: 0.1 },
      },
    },
  ],
  [
    "budget-aborts",
    "aborted runs, people who stop, and drained nodes, all under budgets",
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
