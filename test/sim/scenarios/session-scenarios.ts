/** Sessions under load and crashes: stale sessions, resets by people, threads that fork, going back. */
import type { NamedChanges, Scenario, WorkloadShape } from "./scenario.ts";

type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> };

/** Long silences between bursts, so that some are longer than the idle time of a session. */
const sleepy: Partial<WorkloadShape> = {
  conversations: [5, 6],
  burst: [1, 6],
  pause: [500, 45_000],
  systemMessages: [4, 9],
  directives: { slow: 0.15, "tool:slow": 0.05, "tool:never": 0.08 },
};

const stale = (reset: Scenario["reset"], rest: Changes = {}): Changes => ({
  nodes: [1, 2],
  crashes: [1, 4],
  needs: ["sessions", "tools", "silent-messages"],
  reset,
  ends: ["failed", "recorded"],
  ...rest,
  workload: sleepy,
});

const impatient: Partial<WorkloadShape> = {
  conversations: [5, 6],
  burst: [3, 8],
  pause: [100, 1_500],
  resets: [10, 18],
  directives: { slow: 0.2, "tool:slow": 0.1, "tool:never": 0.1, "tool:safe": 0.1 },
};

const restless = (rest: Changes = {}): Changes => ({
  nodes: [1, 2],
  crashes: [0, 4],
  needs: ["sessions", "commands", "tools"],
  ends: ["failed", "aborted", "recorded"],
  ...rest,
  workload: impatient,
});

export const SESSION_SCENARIOS: readonly NamedChanges[] = [
  [
    "stale-idle",
    "sessions that end after a minute of silence, also while work waits",
    stale({ mode: "idle", idleMinutes: 1 }),
  ],
  [
    "stale-daily",
    "a day that ends in the middle, with runs before and after midnight",
    stale({ mode: "both", atHour: 8, idleMinutes: 2 }, { wallOffsetMs: -90_000 }),
  ],
  [
    "stale-collect",
    "sessions that end while messages wait to be collected",
    stale(
      { mode: "idle", idleMinutes: 1 },
      {
        needs: ["sessions", "tools", "silent-messages", "queue-modes"],
        queue: { mode: "collect", debounceMs: 400, cap: 6 },
        order: "route",
        ends: ["failed", "recorded", "dropped"],
      },
    ),
  ],
  ["resets-busy", "people who reset while runs are active and many messages wait", restless()],
  [
    "resets-collect",
    "people who reset while messages wait to be collected",
    restless({
      needs: ["sessions", "commands", "tools", "queue-modes"],
      queue: { mode: "collect", debounceMs: 400, cap: 6 },
      order: "route",
      ends: ["failed", "aborted", "recorded", "dropped"],
    }),
  ],
  [
    "thread-forks",
    "threads that begin with their parent's context, several first messages at once, on one node and on two",
    {
      nodes: [1, 2],
      crashes: [0, 2],
      needs: ["sessions", "tools"],
      workload: {
        conversations: [5, 5],
        burst: [1, 4],
        pause: [50, 2_500],
        forks: 4,
        directives: { slow: 0.1, "tool:safe": 0.1, "tool:never": 0.1 },
      },
    },
  ],
  [
    "branches",
    "people who go back to an earlier answer, at any time and on any node",
    {
      nodes: [1, 2],
      crashes: [0, 2],
      needs: ["sessions", "tools"],
      branches: [12, 24],
      ends: ["failed", "recorded"],
      workload: {
        conversations: [5, 6],
        burst: [1, 4],
        directives: { slow: 0.05, "tool:safe": 0.1, "tool:never": 0.1 },
      },
    },
  ],
];
