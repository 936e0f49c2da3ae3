/** Calls that wait for a person, under all faults: answers on two surfaces, expiry, messages, resets, stops, aborts (M31). */
import type { NamedChanges, Scenario } from "./scenario.ts";

type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<Scenario["workload"]> };

const asking = (changed: Changes): Changes => ({
  nodes: [1, 2],
  crashes: [1, 5],
  approvals: { changes: [0, 0] },
  ends: ["failed", "aborted", "recorded"],
  order: "none",
  ...changed,
  needs: ["approvals", "tools", ...(changed.needs ?? [])],
  workload: {
    messages: [50, 54],
    conversations: [5, 6],
    burst: [1, 3],
    pause: [500, 6_000],
    directives: { "tool:risky": 0.35, "tool:safe": 0.1, "tool:never": 0.1 },
    ...changed.workload,
  },
});

export const APPROVAL_SCENARIOS: readonly NamedChanges[] = [
  ["approvals", "runs that wait for a person, on nodes that die", asking({})],
  [
    "approvals-commands",
    "people who stop, reset and abort runs that wait",
    asking({
      needs: ["commands", "abort"],
      aborts: [4, 8],
      workload: { stops: [3, 6], resets: [3, 6], burst: [1, 1], pause: [1_000, 8_000] },
    }),
  ],
  [
    "late-approvals",
    "answers that come after the conversation has moved on, on nodes that die",
    asking({
      approvals: { changes: [0, 0], late: true },
      crashes: [2, 6],
      workload: { burst: [1, 2], pause: [300, 3_000] },
    }),
  ],
  [
    "approvals-changed",
    "what was approved changes between the question and the answer",
    asking({ crashes: [0, 2], approvals: { changes: [14, 20] }, workload: { burst: [1, 1], pause: [2_000, 9_000] } }),
  ],
  [
    "approvals-nodes",
    "two nodes that are paused and lose their store while answers come, and sessions that go stale",
    asking({
      nodes: [2, 2],
      crashes: [0, 3],
      pauses: [1, 3],
      outages: [0, 2],
      needs: ["sessions"],
      reset: { mode: "idle", idleMinutes: 1 },
      workload: { burst: [1, 4], pause: [500, 25_000] },
    }),
  ],
  [
    "approvals-budget",
    "a budget that is used up while runs wait",
    asking({ needs: ["budgets"], budgets: { agent: { tokens: 14_000 } }, ends: ["failed", "aborted", "recorded"] }),
  ],
];
