/** Several people in one world: groups, jobs and children of guests, messages between their agents, a record that comes and goes. */
import type { Changes, NamedChanges } from "./scenario.ts";

const crowd: Changes = {
  needs: ["agent-messages", "children", "tools", "triggers", "queue-modes", "commands"],
  ends: ["failed", "aborted", "recorded", "dropped"],
  order: "none",
  records: [2, 4],
};

export const PEOPLE_SCENARIOS: readonly NamedChanges[] = [
  [
    "pairing",
    "strangers write, are let in by codes and link accounts, while nodes die and codes are used twice at once",
    {
      needs: ["pairing"],
      ends: ["failed"],
      nodes: [1, 2],
      crashes: [2, 6],
      pairing: { approvals: [10, 16], links: [3, 6] },
    },
  ],
  [
    "untrusted",
    "agents read pages, then write to each other, start children and make jobs, while nodes die and sessions end",
    {
      ...crowd,
      nodes: [1, 2],
      crashes: [1, 5],
      workload: {
        messages: [50, 56],
        conversations: [5, 6],
        resets: [3, 6],
        directives: { "tool:web": 0.3, spawn: 0.1, "tool:tell": 0.2, "tool:whisper": 0.1, "tool:job": 0.1, chain: 0.3 },
      },
    },
  ],
  [
    "people",
    "guests and the owner in groups, with children, jobs and messages, while nodes die and a record comes and goes",
    {
      ...crowd,
      nodes: [1, 2],
      crashes: [1, 5],
      workload: {
        messages: [50, 56],
        conversations: [3, 3],
        groups: 2,
        resets: [2, 5],
        directives: {
          spawn: 0.08,
          "spawn:slow": 0.1,
          "tool:job": 0.1,
          "tool:tell": 0.12,
          "tool:whisper": 0.1,
          slow: 0.1,
        },
      },
    },
  ],
  [
    "people-collected",
    "guests and the owner write to a busy group in every mode, past the cap",
    {
      ...crowd,
      nodes: [1, 2],
      crashes: [1, 4],
      queue: { mode: "collect", debounceMs: 300, cap: 3 },
      workload: {
        conversations: [2, 2],
        groups: 1,
        burst: [3, 8],
        modeChanges: [2, 5],
        directives: { slow: 0.3, "tool:slow": 0.1, "tool:safe": 0.1 },
      },
    },
  ],
];
