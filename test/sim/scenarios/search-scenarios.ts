/** The search index beside commits, deaths, removals and rebuilds (M35). It belongs to a home, so there is one node. */
import type { NamedChanges } from "./scenario.ts";

const work = { messages: [50, 60], conversations: [5, 6], burst: [1, 4], pause: [100, 1_500] } as const;

export const SEARCH_SCENARIOS: readonly NamedChanges[] = [
  [
    "search",
    "an index that follows a node which dies, also inside the index's own writes, and is built again in between",
    {
      ...{ nodes: [1, 1], crashes: [3, 8], ends: ["failed", "aborted", "recorded"], order: "none" },
      needs: ["children", "tools", "timeouts", "model-errors"],
      search: { rebuilds: [0, 2], prunes: [1, 3] },
      removals: [3, 6],
      workload: { ...work, directives: { spawn: 0.2, "spawn:slow": 0.1, "tool:safe": 0.1, silent: 0.05 } },
    },
  ],
];
