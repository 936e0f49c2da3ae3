/** Scenarios of crashes that no run caused, and of runs that cause them (M13). */
import { CALM_STORE } from "../world/faults.ts";
import { type NamedChanges, TRIED_MS } from "./scenario.ts";

const MIX = { slow: 0.15, "tool:safe": 0.2, "tool:never": 0.1, "tool:long": 0.1 } as const;
const KILLED_ONLY = { crashes: [0, 0], store: { ...CALM_STORE, batchDeath: 0 }, needs: ["tools", "attempts"] } as const;

export const TRIAL_SCENARIOS: readonly NamedChanges[] = [
  [
    "outside-kills",
    "nodes killed from outside every one to three seconds, with short and long steps: no run fails",
    {
      ...KILLED_ONLY,
      nodes: [1, 2],
      kills: { count: [12, 25], gaps: [[1_000, 3_000]] },
      restMs: TRIED_MS,
      workload: { directives: MIX },
    },
  ],
  [
    "kills-on-trial",
    "nodes killed from outside when runs are on trial, and in the pauses after that: no run fails",
    {
      ...KILLED_ONLY,
      // Long enough for a trial to begin, then in the pause after it.
      kills: {
        count: [8, 14],
        gaps: [
          [13_000, 21_000],
          [1_500, 9_000],
        ],
      },
      restMs: TRIED_MS,
      // Few long steps, so that a run is often alone on trial.
      workload: { conversations: [5, 6], exactly: { "tool:long": [1, 3] }, directives: { "tool:safe": 0.1 } },
    },
  ],
  [
    "killer-among-many",
    "a run that kills its node among many that were open with it, and a few kills from outside",
    {
      ...KILLED_ONLY,
      nodes: [1, 2],
      kills: { count: [0, 3], gaps: [[500, 20_000]] },
      restMs: TRIED_MS,
      workload: {
        conversations: [8, 14],
        burst: [6, 12],
        pause: [20, 300],
        exactly: { "tool:poison": [1, 2] },
        directives: { ...MIX, slow: 0.4 },
      },
    },
  ],
];
