/** Rights that are given and taken away while runs use them (L13). */
import type { NamedChanges } from "./scenario.ts";

const WORK = {
  messages: [60, 70],
  conversations: [5, 6],
  burst: [1, 3],
  pause: [100, 1_500],
  directives: { "tool:act": 0.6, "tool:safe": 0.3, "tool:never": 0.2, chain: 0.15 },
} as const;

const RULED = {
  ...WORK,
  messages: [40, 44],
  conversations: [3, 4],
  directives: { "spawn:act": 0.45, "spawn:acts": 0.12, "tool:act": 0.25, slow: 0.1 },
} as const;

export const RIGHTS_SCENARIOS: readonly NamedChanges[] = [
  [
    "revocations",
    "people whose right to use a tool comes and goes, on nodes that die",
    { nodes: [1, 2], crashes: [3, 7], rights: { changes: [60, 90] }, needs: ["tools", "rights"], workload: WORK },
  ],
  [
    "revocations-nodes",
    "the same on two nodes that are paused and drained",
    {
      ...{ nodes: [2, 2], crashes: [0, 3], pauses: [1, 3], drains: [1, 3] },
      rights: { changes: [60, 90] },
      needs: ["tools", "rights"],
      workload: WORK,
    },
  ],
  [
    "rules",
    "agents that get and lose a rule while their children work, on nodes that die",
    {
      ...{ nodes: [1, 2], crashes: [2, 5], rules: { changes: [30, 40] }, subagents: { maxDepth: 3 } },
      ...{ ends: ["failed", "aborted", "recorded"], order: "none" },
      needs: ["tools", "rights", "children", "timeouts"],
      workload: RULED,
    },
  ],
];
