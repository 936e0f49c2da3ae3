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
    "steady-kills",
    "a node killed every eight seconds, with sixteen runs open at once that take three to five seconds: all are answered meanwhile",
    {
      ...KILLED_ONLY,
      // Two soon, which make suspects of all open runs.
      kills: {
        count: [40, 40],
        gaps: [[1_500, 2_500], [1_000, 1_500], ...Array<[number, number]>(38).fill([8_000, 8_000])],
      },
      settledWithinMs: { all: 250_000 },
      restMs: TRIED_MS,
      workload: {
        messages: [50, 50],
        conversations: [16, 16],
        burst: [1, 1],
        pause: [20, 60],
        directives: { "tool:steady": 0.45 },
      },
    },
  ],
  [
    "poison-resent",
    "a person sends a message three times that kills the node, while others write on for minutes: none of them waits",
    {
      ...KILLED_ONLY,
      nodes: [1, 2],
      settledWithinMs: { uninterrupted: 45_000 },
      restMs: 2 * TRIED_MS,
      workload: {
        conversations: [6, 8],
        burst: [1, 2],
        pause: [4_000, 9_000],
        exactly: { "tool:poison": [3, 3] },
        directives: { "tool:safe": 0.2 },
      },
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
