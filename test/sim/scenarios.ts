/** Scenarios are data: how many nodes, what may go wrong, what people write. A seed fills in the numbers. */

import type { SendingClass } from "../../src/core/delivery.ts";
import { CALM_CHANNEL, CALM_STORE, type ChannelFaults, type StoreFaults } from "./faults.ts";
import type { Feature } from "./subject.ts";
import type { Directive } from "./tokens.ts";

/** From and to, both included. */
export type Range = readonly [number, number];

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly nodes: Range;
  readonly crashes: Range;
  readonly pauses: Range;
  readonly outages: Range;
  readonly fullDisks: Range;
  readonly clockJumps: Range;
  readonly drains: Range;
  readonly store: StoreFaults;
  readonly channel: ChannelFaults;
  /** The classes of the channels people write on. */
  readonly classes: readonly SendingClass[];
  readonly workload: WorkloadShape;
  /** What the subject must be able to do. */
  readonly needs: readonly Feature[];
  /** How messages may end here beside `answered` and `merged`. */
  readonly ends: readonly string[];
}

export interface WorkloadShape {
  readonly messages: Range;
  readonly conversations: Range;
  /** Messages of one person within a moment. */
  readonly burst: Range;
  /** Milliseconds between bursts. */
  readonly pause: Range;
  /** Chance of each directive per message. */
  readonly directives: Partial<Record<Directive, number>>;
  /** System messages that arrive without a connector, and how many of them are silent. */
  readonly systemMessages: Range;
  readonly resets: Range;
  readonly stops: Range;
}

const BASE: Omit<Scenario, "name" | "about"> = {
  nodes: [1, 1],
  crashes: [1, 4],
  pauses: [0, 0],
  outages: [0, 0],
  fullDisks: [0, 0],
  clockJumps: [0, 0],
  drains: [0, 0],
  store: CALM_STORE,
  channel: CALM_CHANNEL,
  classes: ["idempotent", "reconcilable", "ambiguous"],
  workload: {
    messages: [50, 60],
    conversations: [5, 7],
    burst: [1, 5],
    pause: [50, 1_500],
    directives: { silent: 0.05, "fail:transient": 0.05 },
    systemMessages: [0, 0],
    resets: [0, 0],
    stops: [0, 0],
  },
  needs: [],
  ends: ["failed"],
};

const scenario = (
  name: string,
  about: string,
  changed: Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> },
): Scenario => ({ ...BASE, ...changed, name, about, workload: { ...BASE.workload, ...changed.workload } });

const SICK_CHANNEL: ChannelFaults = {
  retry: 0.15,
  refuse: 0.04,
  shownUnknown: 0.1,
  hiddenUnknown: 0.08,
  lookupUnknown: 0.3,
  duplicate: 0.1,
  redeliver: 0.05,
};
const SICK_STORE: StoreFaults = { lost: 0.04, unanswered: 0.1, late: 0, full: 0.01, batchDeath: 0.002 };

export const SCENARIOS: readonly Scenario[] = [
  scenario("crashes", "one node that dies anywhere, also while it recovers", { crashes: [1, 6] }),
  scenario("bursts", "few people who write much at once", {
    crashes: [1, 4],
    workload: { conversations: [5, 5], burst: [4, 14], pause: [300, 4_000], directives: { slow: 0.03 } },
  }),
  scenario("duplicates", "channels that hand in everything again, before and after the acknowledgement", {
    crashes: [0, 3],
    channel: { ...CALM_CHANNEL, duplicate: 0.6, redeliver: 0.5 },
  }),
  scenario("unknown-commits", "commits applied and not answered, lost, refused for want of room", {
    crashes: [0, 2],
    store: SICK_STORE,
  }),
  scenario("outages", "a store that is away or full for a while", {
    crashes: [0, 3],
    outages: [1, 2],
    fullDisks: [0, 2],
  }),
  scenario("sick-channels", "sends that time out before or after they were shown, fail, are refused", {
    crashes: [0, 4],
    channel: SICK_CHANNEL,
  }),
  scenario("tools", "tools that must not be repeated, throw, take long, send", {
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
  }),
  scenario("two-nodes", "two nodes, one dies, the other takes over", { nodes: [2, 2], crashes: [1, 5] }),
  scenario("zombies", "nodes paused for longer than their lease that come back", {
    nodes: [2, 3],
    crashes: [0, 2],
    pauses: [3, 7],
    needs: ["tools"],
    workload: { directives: { "tool:never": 0.3, "tool:safe": 0.2, slow: 0.05 } },
  }),
  scenario("frozen-senders", "nodes paused around a send, on channels that can be asked", {
    nodes: [2, 2],
    crashes: [0, 2],
    pauses: [5, 9],
    classes: ["reconcilable"],
    workload: { burst: [1, 2], pause: [100, 2_000] },
  }),
  scenario("clock-jumps", "wall clocks that jump, together and alone", {
    nodes: [1, 2],
    crashes: [0, 3],
    clockJumps: [1, 4],
  }),
  scenario("drains", "nodes restarted in peace while work goes on", { nodes: [1, 2], crashes: [0, 3], drains: [1, 4] }),
  scenario("storm", "three nodes and everything at once", {
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
  }),
  scenario("silent-messages", "messages that are recorded and wake nobody", {
    needs: ["silent-messages"],
    workload: { systemMessages: [8, 15] },
    ends: ["failed", "recorded"],
  }),
  scenario("resets", "people who begin anew while messages wait", {
    needs: ["commands"],
    workload: { resets: [4, 8] },
    ends: ["failed", "aborted", "recorded"],
  }),
  scenario("stops", "people who stop a run", {
    needs: ["commands", "tools"],
    workload: { stops: [4, 8], directives: { slow: 0.1, "tool:never": 0.1 } },
    ends: ["failed", "aborted", "recorded"],
  }),
  scenario("stalls", "a model that does not answer, is full, or refuses", {
    crashes: [0, 2],
    needs: ["timeouts", "compaction"],
    workload: { directives: { stall: 0.02, overflow: 0.03, "fail:rate": 0.05, "fail:auth": 0.02 } },
  }),
  scenario("big-outputs", "tools that say more than the model is shown", {
    needs: ["tools", "files"],
    workload: { directives: { "tool:big": 0.2, "tool:safe": 0.1 } },
  }),
];

/** The scenarios a subject can be asked to go through. */
export const scenariosFor = (features: readonly Feature[]): readonly Scenario[] =>
  SCENARIOS.filter(({ needs }) => needs.every((need) => features.includes(need)));
