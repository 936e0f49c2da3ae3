/** Crashes, failing stores and channels, several nodes, tools and errors: every program must survive these. */
import { CALM_CHANNEL, CALM_STORE, type ChannelFaults, type StoreFaults } from "../world/faults.ts";
import { type NamedChanges, TRIED_MS } from "./scenario.ts";

const SICK_CHANNEL: ChannelFaults = {
  retry: 0.15,
  refuse: 0.04,
  shownUnknown: 0.1,
  hiddenUnknown: 0.08,
  lookupUnknown: 0.3,
  slow: 0,
  duplicate: 0.1,
  redeliver: 0.05,
};
const SICK_STORE: StoreFaults = { lost: 0.04, unanswered: 0.1, late: 0, hangs: 0, full: 0.01, batchDeath: 0.002 };

export const BASIC_SCENARIOS: readonly NamedChanges[] = [
  ["crashes", "one node that dies at any point, also during recovery", { crashes: [1, 6] }],
  [
    "bursts",
    "few people who write many messages at once",
    {
      crashes: [1, 4],
      workload: { conversations: [5, 5], burst: [4, 14], pause: [300, 4_000], directives: { slow: 0.03 } },
    },
  ],
  [
    "first-contact",
    "several first messages of one person at once, on two nodes",
    {
      nodes: [2, 2],
      crashes: [0, 3],
      workload: { conversations: [10, 14], greeting: [2, 4], pause: [10, 400] },
    },
  ],
  [
    "duplicates",
    "channels that submit every message again, before and after the acknowledgement",
    {
      crashes: [0, 3],
      channel: { ...CALM_CHANNEL, duplicate: 0.6, redeliver: 0.5 },
    },
  ],
  [
    "unknown-commits",
    "commits that are applied but not answered, lost, or refused because the disk is full",
    {
      crashes: [0, 2],
      store: SICK_STORE,
    },
  ],
  [
    "late-commits",
    "commits applied long after all processes stopped waiting, or answered only after seconds",
    {
      nodes: [2, 2],
      crashes: [0, 2],
      needs: ["tools"],
      outages: [0, 1],
      store: { ...CALM_STORE, late: 0.05, hangs: 0.02 },
      workload: { directives: { "tool:never": 0.1, "tool:safe": 0.1 } },
    },
  ],
  [
    "outages",
    "a store that is down or full for a while",
    {
      crashes: [0, 3],
      outages: [1, 2],
      fullDisks: [0, 2],
    },
  ],
  [
    "sick-channels",
    "sends that time out before or after they are shown, fail, or are refused",
    {
      crashes: [0, 4],
      channel: SICK_CHANNEL,
    },
  ],
  [
    "late-arrivals",
    "sends still in progress when their node is back, on channels with a lookup",
    {
      nodes: [1, 2],
      crashes: [2, 5],
      classes: ["reconcilable"],
      channel: { ...CALM_CHANNEL, slow: 0.4 },
      needs: ["lookup-grace"],
    },
  ],
  [
    "slow-sends",
    "sends still in progress when their node is back, on channels without a lookup",
    {
      nodes: [1, 2],
      crashes: [2, 6],
      classes: ["idempotent", "ambiguous"],
      channel: { ...CALM_CHANNEL, slow: 0.3 },
    },
  ],
  [
    "tools",
    "tools that must not be repeated, throw, take long, or send",
    {
      crashes: [1, 5],
      needs: ["tools"],
      workload: {
        directives: {
          "tool:safe": 0.15,
          "tool:never": 0.25,
          "tool:send": 0.12,
          "tool:slow": 0.06,
          "tool:throw": 0.06,
          "tool:unknown": 0.03,
          "fail:transient": 0.04,
        },
      },
    },
  ],
  [
    "suspended-calls",
    "calls that are suspended beside others that must not be repeated, on nodes that drain and die",
    {
      crashes: [1, 5],
      drains: [0, 2],
      needs: ["tools", "attempts"],
      workload: {
        directives: { "tool:suspend": 0.3, "tool:slow": 0.25, "tool:never": 0.15, "tool:safe": 0.2, "tool:send": 0.1 },
      },
    },
  ],
  [
    "repeated-ids",
    "a provider that uses the ids of tool calls again, in one answer and in later turns",
    {
      crashes: [1, 5],
      needs: ["tools", "attempts"],
      repeatsIds: true,
      workload: {
        directives: {
          "tool:never": 0.3,
          "tool:safe": 0.3,
          "tool:send": 0.2,
          "tool:slow": 0.1,
          "tool:throw": 0.1,
          chain: 0.4,
        },
      },
    },
  ],
  ["two-nodes", "two nodes, one dies, the other takes over", { nodes: [2, 2], crashes: [1, 5] }],
  [
    "zombies",
    "nodes paused for longer than their lease that come back",
    {
      nodes: [2, 3],
      crashes: [0, 2],
      pauses: [3, 7],
      needs: ["tools"],
      workload: { directives: { "tool:never": 0.3, "tool:safe": 0.2, slow: 0.05 } },
    },
  ],
  [
    "away-again",
    "slow runs, and nodes that are repeatedly away for longer than their lease",
    {
      nodes: [2, 2],
      crashes: [0, 0],
      pauses: [6, 12],
      workload: { burst: [1, 1], directives: { slow: 0.8 } },
    },
  ],
  [
    "silences",
    "slow runs on three nodes whose leases end because of pauses and clock jumps; no process dies",
    {
      nodes: [3, 3],
      crashes: [0, 0],
      pauses: [2, 4],
      clockJumps: [16, 28],
      workload: { burst: [1, 1], directives: { slow: 0.9 } },
    },
  ],
  [
    "frozen-senders",
    "nodes paused around a send, on channels with a lookup",
    {
      nodes: [2, 2],
      crashes: [0, 2],
      pauses: [5, 9],
      classes: ["reconcilable"],
      workload: { burst: [1, 2], pause: [100, 2_000] },
    },
  ],
  [
    "clock-jumps",
    "wall clocks that jump, together and alone",
    {
      nodes: [1, 2],
      crashes: [0, 3],
      clockJumps: [1, 4],
    },
  ],
  ["drains", "nodes drained and restarted while work continues", { nodes: [1, 2], crashes: [0, 3], drains: [1, 4] }],
  [
    "storm",
    "three nodes and all faults together",
    {
      nodes: [3, 3],
      crashes: [1, 6],
      pauses: [0, 2],
      outages: [0, 1],
      fullDisks: [0, 1],
      clockJumps: [0, 2],
      drains: [0, 2],
      store: { ...SICK_STORE, late: 0.02 },
      channel: { ...SICK_CHANNEL, duplicate: 0.3, redeliver: 0.2 },
      needs: ["tools"],
      workload: {
        directives: { silent: 0.05, "tool:safe": 0.05, "tool:never": 0.1, "tool:send": 0.05, "fail:transient": 0.05 },
      },
    },
  ],
  [
    "silent-messages",
    "messages that are recorded but start no run",
    {
      needs: ["silent-messages"],
      workload: { systemMessages: [8, 15] },
      ends: ["failed", "recorded"],
    },
  ],
  [
    "resets",
    "people who reset while messages wait",
    {
      needs: ["commands"],
      workload: { resets: [4, 8] },
      ends: ["failed", "aborted", "recorded"],
    },
  ],
  [
    "stops",
    "people who stop a run",
    {
      needs: ["commands", "tools"],
      workload: { stops: [4, 8], directives: { slow: 0.1, "tool:never": 0.1 } },
      ends: ["failed", "aborted", "recorded"],
    },
  ],
  [
    "stalls",
    "a model that does not answer: the run times out and the person gets a notice",
    {
      crashes: [0, 2],
      needs: ["timeouts", "tools"],
      workload: {
        exactly: { stall: [1, 3] },
        directives: { slow: 0.05, "tool:slow": 0.05, "tool:safe": 0.3, late: 0.5 },
      },
    },
  ],
  [
    "model-errors",
    "every class of error, at the first call and after a tool's result",
    {
      crashes: [0, 2],
      needs: ["model-errors", "tools"],
      workload: {
        exactly: { "fail:down": [1, 2], "fail:auth": [1, 3], "fail:request": [1, 3], overflow: [1, 3] },
        directives: { "fail:rate": 0.08, "fail:transient": 0.06, "tool:safe": 0.3, late: 0.4 },
      },
    },
  ],
  [
    "trips",
    "tools that kill their node, once each",
    {
      nodes: [1, 2],
      crashes: [0, 1],
      needs: ["tools", "attempts"],
      workload: { exactly: { "tool:trip": [3, 7] }, directives: { "tool:never": 0.1, "tool:safe": 0.1 } },
    },
  ],
  [
    "poison",
    "a run that kills its node each time: it fails with a notice, other runs do not fail",
    {
      crashes: [0, 0],
      needs: ["tools", "attempts"],
      store: { ...CALM_STORE, batchDeath: 0 },
      workload: {
        burst: [3, 8],
        pause: [20, 400],
        exactly: { "tool:poison": [1, 1] },
        directives: { slow: 0.1, "tool:safe": 0.2, "tool:never": 0.1, "tool:slow": 0.05 },
      },
      restMs: TRIED_MS,
    },
  ],
  [
    "aborts",
    "runs that are aborted at every step, also the last",
    {
      nodes: [1, 2],
      crashes: [0, 3],
      needs: ["tools", "abort", "model-errors", "attempts"],
      aborts: [25, 50],
      workload: {
        exactly: { "fail:auth": [3, 6], "fail:down": [0, 2], "tool:poison": [0, 1] },
        directives: { slow: 0.05, "tool:never": 0.15, "tool:safe": 0.15, "tool:slow": 0.05, "tool:send": 0.05 },
      },
      ends: ["failed", "aborted"],
      restMs: TRIED_MS,
    },
  ],
  [
    "discard",
    "a node that discards the open work of an earlier life",
    {
      crashes: [2, 6],
      needs: ["discard"],
      restore: "discard",
      ends: ["failed", "discarded"],
    },
  ],
  [
    "hand-over",
    "nodes that are drained one after the other, in the middle of runs",
    {
      nodes: [2, 3],
      crashes: [0, 1],
      drains: [3, 7],
      needs: ["tools"],
      workload: { directives: { slow: 0.1, "tool:never": 0.15, "tool:slow": 0.08 } },
    },
  ],
  [
    "shared-target",
    "several conversations answered in one place",
    {
      nodes: [1, 2],
      crashes: [0, 4],
      channel: { ...SICK_CHANNEL, duplicate: 0.1 },
      workload: { sharedTarget: true },
    },
  ],
];
