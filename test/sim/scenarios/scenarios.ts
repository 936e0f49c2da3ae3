/** Scenarios are data: how many nodes, what may go wrong, what people write. A seed fills in the numbers. */

import type { Config } from "../../../src/config/config-schema.ts";
import type { ResetSettings } from "../../../src/core/agent/session-freshness.ts";
import type { Limits } from "../../../src/core/budget/budget.ts";
import type { SendingClass } from "../../../src/core/delivery/delivery.ts";
import type { LaneSizes } from "../../../src/engine/runs/lanes.ts";
import type { Feature, SubjectNode } from "../subjects/subject.ts";
import { CALM_CHANNEL, CALM_STORE, type ChannelFaults, type StoreFaults } from "../world/faults.ts";
import type { JobsShape } from "../world/jobs.ts";
import type { SimContext } from "../world/summariser.ts";
import type { Directive } from "../world/tokens.ts";
import { CONTEXT_SCENARIOS } from "./context-scenarios.ts";
import { MESSAGE_SCENARIOS } from "./messages-scenarios.ts";
import { MODEL_SCENARIOS } from "./models-scenarios.ts";
import { SESSION_SCENARIOS } from "./sessions-scenarios.ts";
import { SUBAGENT_SCENARIOS } from "./subagents-scenarios.ts";
import { TRIGGER_SCENARIOS } from "./triggers-scenarios.ts";

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
  /** How the subject treats messages that arrive while a run is active. */
  readonly queue?: Partial<Config["queue"]>;
  /** What the queue mode leaves of L2: order in the inbox, order within each route, or nothing that can be judged. */
  readonly order?: "inbox" | "route" | "none";
  /** How messages may end here beside `answered` and `merged`. */
  readonly ends: readonly string[];
  /** How often somebody asks by the program's own interface for a run to end. */
  readonly aborts: Range;
  readonly restore: "resume" | "discard";
  /** What may be spent, in tokens and millionths of a dollar. */
  readonly budgets?: Limits;
  /** The model is asked through the router, with keys that reach their limit or are refused. */
  readonly keys?: boolean;
  /** How large contexts may be, and how summaries turn out. Absent: nothing comes near the limits. */
  readonly context?: SimContext;
  /** When sessions begin anew by themselves; hours are those of UTC. Absent: never. */
  readonly reset?: ResetSettings;
  /** When the world begins, before or after its usual wall time. */
  readonly wallOffsetMs?: number;
  /** How often somebody goes back to an earlier answer. */
  readonly branches?: Range;
  /** How often somebody stops an agent with all it has started, or removes one. */
  readonly treeStops?: Range;
  readonly removals?: Range;
  readonly subagents?: SubjectNode["subagents"];
  /** Nobody fails but by his own fault, however often a poisonous message kills the node (M13). */
  readonly innocentsLive?: boolean;
  /** How many runs a node has active at a time. */
  readonly lanes?: LaneSizes;
  /** Schedules that are due meanwhile. */
  readonly jobs?: JobsShape;
  /** Permanent agents there are, and how often each may be described anew and removed for good. */
  readonly permanentAgents?: { readonly count: number; readonly describes: Range; readonly removals: Range };
}

export interface WorkloadShape {
  readonly messages: Range;
  readonly conversations: Range;
  /** Messages with which a person begins, all at once: they race to make the agent. */
  readonly greeting: Range;
  /** Messages of one person within a moment. */
  readonly burst: Range;
  /** Milliseconds between bursts. */
  readonly pause: Range;
  /** Chance of each directive per message. */
  readonly directives: Partial<Record<Directive, number>>;
  /** Directives that come in numbers, each on a message of its own. */
  readonly exactly?: Partial<Record<Directive, Range>>;
  /** Directives that come together, each set on a message of its own. */
  readonly together?: readonly (readonly Directive[])[];
  /** How often two children are started at the same moment, under one person's agent. */
  readonly children?: Range;
  /** The answers to all people of a channel go to one place. */
  readonly sharedTarget?: boolean;
  /** System messages that arrive without a connector, and how many of them are silent. */
  readonly systemMessages: Range;
  /** Threads each person writes in; each is a route of its own into the same agent. */
  readonly threads?: number;
  /** Threads of each conversation that are agents of their own and begin with their parent's context. */
  readonly forks?: number;
  /** How often a person changes the queue mode. */
  readonly modeChanges?: Range;
  /** Words behind each message. */
  readonly padding?: Range;
  /** How often a person asks for a summary. */
  readonly compacts?: Range;
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
    greeting: [1, 1],
    burst: [1, 5],
    pause: [50, 1_500],
    directives: { silent: 0.05, "fail:transient": 0.05 },
    systemMessages: [0, 0],
    resets: [0, 0],
    stops: [0, 0],
  },
  needs: [],
  ends: ["failed"],
  aborts: [0, 0],
  restore: "resume",
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
  slow: 0,
  duplicate: 0.1,
  redeliver: 0.05,
};
const SICK_STORE: StoreFaults = { lost: 0.04, unanswered: 0.1, late: 0, hangs: 0, full: 0.01, batchDeath: 0.002 };

export type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> };

const busy: Partial<WorkloadShape> = {
  conversations: [5, 6],
  burst: [2, 9],
  pause: [200, 2_500],
  threads: 2,
  directives: { slow: 0.1, "tool:slow": 0.1, "tool:never": 0.1, "tool:safe": 0.1 },
};
const busyAgent = (queue: Partial<Config["queue"]>, order: Scenario["order"], ends: readonly string[]): Changes => ({
  nodes: [1, 2],
  crashes: [1, 4],
  needs: ["queue-modes", "tools"],
  queue: { debounceMs: 400, cap: 4, ...queue },
  order,
  ends: ["failed", "dropped", ...ends],
  workload: busy,
});

/** Each queue mode under bursts past its cap, with two routes into each agent, on one node and on two. */
const QUEUE_SCENARIOS: readonly (readonly [string, string, Changes])[] = [
  ["collect", "what waits together becomes one prompt per route", busyAgent({ mode: "collect" }, "route", [])],
  [
    "followup",
    "one run each after the debounce; the oldest are dropped",
    busyAgent({ mode: "followup", drop: "old" }, "inbox", []),
  ],
  ["queue", "one run each at once; the newest are dropped", busyAgent({ mode: "queue", drop: "new" }, "inbox", [])],
  [
    "steer",
    "messages enter the active run between its steps, also one that crashes before the next",
    busyAgent({ mode: "steer" }, "route", []),
  ],
  [
    "steer-backlog",
    "messages enter the run while it streams, otherwise they wait",
    busyAgent({ mode: "steer-backlog" }, "route", []),
  ],
  [
    "interrupt",
    "messages end the active run, during tools and during its last commit",
    busyAgent({ mode: "interrupt" }, "none", ["aborted"]),
  ],
  [
    "mode-changes",
    "people who change the mode while messages wait",
    {
      ...busyAgent({ mode: "collect" }, "none", ["aborted", "recorded"]),
      needs: ["queue-modes", "tools", "commands"],
      workload: { ...busy, modeChanges: [6, 12] },
    },
  ],
];

export const SCENARIOS: readonly Scenario[] = [
  scenario("crashes", "one node that dies anywhere, also while it recovers", { crashes: [1, 6] }),
  scenario("bursts", "few people who write much at once", {
    crashes: [1, 4],
    workload: { conversations: [5, 5], burst: [4, 14], pause: [300, 4_000], directives: { slow: 0.03 } },
  }),
  scenario("first-contact", "several first messages of one person at once, on two nodes", {
    nodes: [2, 2],
    crashes: [0, 3],
    workload: { conversations: [10, 14], greeting: [2, 4], pause: [10, 400] },
  }),
  scenario("duplicates", "channels that hand in everything again, before and after the acknowledgement", {
    crashes: [0, 3],
    channel: { ...CALM_CHANNEL, duplicate: 0.6, redeliver: 0.5 },
  }),
  scenario("unknown-commits", "commits applied and not answered, lost, refused for want of room", {
    crashes: [0, 2],
    store: SICK_STORE,
  }),
  scenario("late-commits", "commits applied long after everybody gave them up, or answered only after seconds", {
    nodes: [2, 2],
    crashes: [0, 2],
    needs: ["tools"],
    outages: [0, 1],
    store: { ...CALM_STORE, late: 0.05, hangs: 0.02 },
    workload: { directives: { "tool:never": 0.1, "tool:safe": 0.1 } },
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
  scenario("late-arrivals", "sends still under way when their node is back, on channels that can be asked", {
    nodes: [1, 2],
    crashes: [2, 5],
    classes: ["reconcilable"],
    channel: { ...CALM_CHANNEL, slow: 0.4 },
    needs: ["lookup-grace"],
  }),
  scenario("slow-sends", "sends still under way when their node is back, on channels that cannot be asked", {
    nodes: [1, 2],
    crashes: [2, 6],
    classes: ["idempotent", "ambiguous"],
    channel: { ...CALM_CHANNEL, slow: 0.3 },
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
  scenario("away-again", "slow runs, and nodes that are away for longer than their lease again and again", {
    nodes: [2, 2],
    crashes: [0, 0],
    pauses: [6, 12],
    workload: { burst: [1, 1], directives: { slow: 0.8 } },
  }),
  scenario("silences", "slow runs on three nodes whose leases end by pauses and by clocks that jump, and nobody dies", {
    nodes: [3, 3],
    crashes: [0, 0],
    pauses: [2, 4],
    clockJumps: [16, 28],
    workload: { burst: [1, 1], directives: { slow: 0.9 } },
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
  scenario("stalls", "a model that does not answer: the run times out and the person is told", {
    crashes: [0, 2],
    needs: ["timeouts", "tools"],
    workload: {
      exactly: { stall: [1, 3] },
      directives: { slow: 0.05, "tool:slow": 0.05, "tool:safe": 0.3, late: 0.5 },
    },
  }),
  scenario("model-errors", "every class of error, at the first call and behind a tool's result", {
    crashes: [0, 2],
    needs: ["model-errors", "tools"],
    workload: {
      exactly: { "fail:down": [1, 2], "fail:auth": [1, 3], "fail:request": [1, 3], overflow: [1, 3] },
      directives: { "fail:rate": 0.08, "fail:transient": 0.06, "tool:safe": 0.3, late: 0.4 },
    },
  }),
  scenario("trips", "tools that kill their node, once each", {
    nodes: [1, 2],
    crashes: [0, 1],
    needs: ["tools", "attempts"],
    workload: { exactly: { "tool:trip": [3, 7] }, directives: { "tool:never": 0.1, "tool:safe": 0.1 } },
  }),
  scenario("poison", "a run that kills its node each time: it fails visibly, those beside it do not", {
    crashes: [0, 0],
    needs: ["tools", "attempts"],
    store: { ...CALM_STORE, batchDeath: 0 },
    workload: {
      burst: [3, 8],
      pause: [20, 400],
      exactly: { "tool:poison": [1, 1] },
      directives: { slow: 0.1, "tool:safe": 0.2, "tool:never": 0.1, "tool:slow": 0.05 },
    },
    innocentsLive: true,
  }),
  scenario("aborts", "runs that are asked to end at every step, also the last", {
    nodes: [1, 2],
    crashes: [0, 3],
    needs: ["tools", "abort", "model-errors", "attempts"],
    aborts: [25, 50],
    workload: {
      exactly: { "fail:auth": [3, 6], "fail:down": [0, 2], "tool:poison": [0, 1] },
      directives: { slow: 0.05, "tool:never": 0.15, "tool:safe": 0.15, "tool:slow": 0.05, "tool:send": 0.05 },
    },
    ends: ["failed", "aborted"],
  }),
  scenario("discard", "a node that gives up what an earlier life left behind", {
    crashes: [2, 6],
    needs: ["discard"],
    restore: "discard",
    ends: ["failed", "discarded"],
  }),
  scenario("hand-over", "nodes that leave in peace, one after the other, in the middle of runs", {
    nodes: [2, 3],
    crashes: [0, 1],
    drains: [3, 7],
    needs: ["tools"],
    workload: { directives: { slow: 0.1, "tool:never": 0.15, "tool:slow": 0.08 } },
  }),
  scenario("shared-target", "several conversations answered in one place", {
    nodes: [1, 2],
    crashes: [0, 4],
    channel: { ...SICK_CHANNEL, duplicate: 0.1 },
    workload: { sharedTarget: true },
  }),
  ...MESSAGE_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  ...MODEL_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  ...QUEUE_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  ...TRIGGER_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  ...CONTEXT_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  ...SESSION_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
  scenario("big-outputs", "tools that say more than the model is shown", {
    needs: ["tools", "files"],
    workload: { directives: { "tool:big": 0.2, "tool:safe": 0.1 } },
  }),
  ...SUBAGENT_SCENARIOS.map(([name, about, changed]) => scenario(name, about, changed)),
];

/** The scenarios a subject can be asked to go through. */
export const scenariosFor = (features: readonly Feature[]): readonly Scenario[] =>
  SCENARIOS.filter(({ needs }) => needs.every((need) => features.includes(need)));
