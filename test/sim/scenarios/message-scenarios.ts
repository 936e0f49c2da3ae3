/**
 * Agents that write to each other while either side dies: messages, silent messages, questions, circles of questions,
 * full lanes.
 */
import type { Changes, NamedChanges } from "./scenario.ts";

const talk: Changes = {
  needs: ["agent-messages", "tools"],
  ends: ["failed", "recorded"],
  lanes: { main: 3, subagent: 1, cron: 1, nested: 1 },
};

export const MESSAGE_SCENARIOS: readonly NamedChanges[] = [
  [
    "agent-messages",
    "agents that send each other messages, also silent ones and to an agent that does not exist",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [1, 6],
      workload: {
        directives: {
          "tool:tell": 0.3,
          "tool:whisper": 0.2,
          "tool:report": 0.15,
          "tool:missing": 0.08,
          "tool:never": 0.05,
          slow: 0.03,
        },
      },
    },
  ],
  [
    "agent-asks",
    "agents that wait for each other's answers, also in refused circles, while either side dies",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [1, 6],
      workload: {
        directives: { "tool:ask": 0.4, "tool:askround": 0.15, "tool:tell": 0.1, slow: 0.05, "tool:slow": 0.03 },
      },
    },
  ],
  [
    "asks-full-lanes",
    "one lane for all, and every agent waits for another",
    {
      ...talk,
      crashes: [0, 3],
      lanes: { main: 1, subagent: 1, cron: 1, nested: 1 },
      workload: {
        conversations: [6, 8],
        burst: [2, 6],
        pause: [20, 300],
        directives: { "tool:ask": 0.5, "tool:askround": 0.3 },
      },
    },
  ],
  [
    "asks-drained",
    "nodes that are drained while their agents wait for each other",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [0, 2],
      drains: [2, 6],
      workload: { directives: { "tool:ask": 0.4, "tool:askround": 0.2, slow: 0.2 } },
    },
  ],
  [
    "swarm",
    "a hundred people who contact one swarm, each with a separate agent",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [1, 5],
      workload: {
        messages: [140, 160],
        conversations: [100, 100],
        pause: [5, 80],
        directives: { "tool:contact": 0.9, "tool:whisper": 0.05 },
      },
    },
  ],
  [
    "permanent-agents",
    "permanent agents that get new prompts while messages wait",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [1, 5],
      permanentAgents: { count: 2, describes: [6, 14], removals: [0, 0] },
      workload: { directives: { "tool:tell": 0.4, "tool:ask": 0.4, "tool:whisper": 0.2, slow: 0.05 } },
    },
  ],
  [
    "permanent-removed",
    "permanent agents that are removed for good while they work, while messages wait, and while others wait for them",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [1, 6],
      ends: ["failed", "recorded", "removed", "aborted"],
      permanentAgents: { count: 3, describes: [2, 6], removals: [2, 5] },
      workload: { directives: { "tool:tell": 0.4, "tool:ask": 0.4, "tool:whisper": 0.2, slow: 0.1 } },
    },
  ],
  [
    "http-retries",
    "programs that repeat cut HTTP requests, marked or not, and people who say the same words again, while nodes die",
    {
      needs: ["http"],
      nodes: [1, 2],
      crashes: [2, 8],
      drains: [0, 2],
      callers: [4, 6],
      ends: ["failed", "recorded"],
      workload: { messages: [50, 50], pause: [500, 3_000], directives: {} },
    },
  ],
  [
    "asks-sick-store",
    "commits that are not answered, lost or late, while agents wait for each other",
    {
      ...talk,
      nodes: [1, 2],
      crashes: [0, 2],
      store: { lost: 0.03, unanswered: 0.08, late: 0.02, hangs: 0, full: 0.01, batchDeath: 0.002 },
      workload: { directives: { "tool:ask": 0.3, "tool:askround": 0.1, "tool:tell": 0.2, "tool:whisper": 0.1 } },
    },
  ],
];
