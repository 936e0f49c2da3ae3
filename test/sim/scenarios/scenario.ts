/** A scenario is data: how many nodes, what may go wrong, what people write. A seed fills in the numbers. */
import type { Config } from "../../../src/config/config-schema.ts";
import type { Settings } from "../../../src/config/settings.ts";
import type { ResetSettings } from "../../../src/core/agent/session-freshness.ts";
import type { Limits } from "../../../src/core/budget/budget.ts";
import type { SendingClass } from "../../../src/core/delivery/delivery.ts";
import type { Feature, SubjectNode } from "../subjects/subject.ts";
import { CALM_CHANNEL, CALM_STORE, type ChannelFaults, type StoreFaults } from "../world/faults.ts";
import type { JobsShape } from "../world/jobs.ts";
import type { SimContext } from "../world/summariser.ts";
import type { TokenTree } from "../world/token-tree.ts";
import type { Directive } from "../world/tokens.ts";

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
  /** The features that the subject must have. */
  readonly needs: readonly Feature[];
  /** How the subject treats messages that arrive while a run is active. */
  readonly queue?: Partial<Config["queue"]>;
  /** The time limit of a run. Default: 30 seconds, which one message never needs. */
  readonly runMs?: number;
  /** Which order the queue mode keeps (L2): order in the inbox, order within each route, or nothing to judge. */
  readonly order?: "inbox" | "route" | "none";
  /** How messages may end in addition to `answered` and `merged`. */
  readonly ends: readonly string[];
  /** How often a person aborts a run through the program's interface. */
  readonly aborts: Range;
  readonly restore: "resume" | "discard";
  /** The budgets, in tokens and millionths of a dollar. */
  readonly budgets?: Limits;
  /** People write with API tokens that minted each other. */
  readonly tokens?: TokenTree;
  /** Model calls go through the router, with keys that reach their limit or are refused. */
  readonly keys?: boolean;
  /** The provider uses ids of tool calls again. */
  readonly repeatsIds?: boolean;
  /** How large contexts may be, and which summaries the model writes. Absent: no context comes near the limits. */
  readonly context?: SimContext;
  /** When sessions are reset automatically, with hours in UTC. Absent: never. */
  readonly reset?: ResetSettings;
  /** The offset of the world's start from its usual wall time. */
  readonly wallOffsetMs?: number;
  /** How often a person goes back to an earlier answer. */
  readonly branches?: Range;
  /** How often people drop a message that waits, and send a delivery that failed with another text. */
  readonly peopleActs?: { readonly drops: Range; readonly edits: Range };
  /** How often a person stops an agent with everything it started, or removes one. */
  readonly treeStops?: Range;
  readonly removals?: Range;
  readonly subagents?: SubjectNode["subagents"];
  /** Kills from outside, and the milliseconds before each of them, in turn. */
  readonly kills?: { readonly count: Range; readonly gaps: readonly [Range, ...Range[]] };
  /**
   * How long a message may take until it is settled, even while nodes are killed (M13). `all`: each message. `uninterrupted`:
   * messages of agents without an interrupted run.
   */
  readonly settledWithinMs?: { readonly all?: number; readonly uninterrupted?: number };
  /** How long all work may take to end after the faults. Default: three minutes. A run that kills needs more: it is tried. */
  readonly restMs?: number;
  /** How many runs a node has active at a time. */
  readonly lanes?: Settings["lanes"];
  /**
   * Calls of one tool need a person's yes. `changes`: how often a file changes that every such call names. `late`: people answer
   * only when the conversation has moved on.
   */
  readonly approvals?: { readonly changes: Range; readonly late?: true };
  /** One tool needs a grant. `changes`: how often someone gets or loses it. */
  readonly rights?: { readonly changes: Range };
  /** How often an agent, or the owner, gets a rule against one tool, or loses it. Everyone is the owner. */
  readonly rules?: { readonly changes: Range };
  /** The channels say later what became of each message. */
  readonly receipts?: boolean;
  /** People send files. `quotaBytes`: how much each may store. */
  readonly files?: { readonly quotaBytes: number };
  /** The search index follows: how often it is built again, and how often old changes leave the log. */
  readonly search?: { readonly rebuilds: Range; readonly prunes: Range };
  /** Cron jobs that are due while people write. */
  readonly jobs?: JobsShape;
  /** How many people talk to agents over HTTP, without keys. */
  readonly callers?: Range;
  /** Only the owner is known at first. How often someone is let in by a code, and gets a code that two strangers use. */
  readonly pairing?: { readonly approvals: Range; readonly links: Range };
  /** How often the owner makes or removes the record of a guest. */
  readonly records?: Range;
  /** How many permanent agents there are, and how often they get new prompts and are removed. */
  readonly permanentAgents?: { readonly count: number; readonly describes: Range; readonly removals: Range };
}

export interface WorkloadShape {
  readonly messages: Range;
  readonly conversations: Range;
  /** First messages of a person, all at once: they race to create the agent. */
  readonly greeting: Range;
  /** Messages of one person within a moment. */
  readonly burst: Range;
  /** Milliseconds between bursts. */
  readonly pause: Range;
  /** Chance of each directive per message. */
  readonly directives: Partial<Record<Directive, number>>;
  /** Directives with an exact count, each on a separate message. */
  readonly exactly?: Partial<Record<Directive, Range>>;
  /** Directives that come together, each set on a separate message. */
  readonly together?: readonly (readonly Directive[])[];
  /** How often two children are started at the same moment, under one person's agent. */
  readonly children?: Range;
  /** Groups in which everyone writes. */
  readonly groups?: number;
  /** The answers to all people of a channel go to one place. */
  readonly sharedTarget?: boolean;
  /**
   * Where the answers to each conversation go, in turn: to its own channel, to a mailbox, or to a channel that has a
   * connector only after the faults (M26, M27).
   */
  readonly routes?: readonly ("own" | "api" | "later")[];
  /** System messages that arrive without a connector, and how many of them are silent. */
  readonly systemMessages: Range;
  /** Threads each person writes in; each is a separate route into the same agent. */
  readonly threads?: number;
  /** Threads of each conversation that are separate agents and begin with their parent's context. */
  readonly forks?: number;
  /** How often a person changes the queue mode. */
  readonly modeChanges?: Range;
  /** How often a person gives a command that throws, and one with a value beyond its limit. */
  readonly badCommands?: Range;
  /** Extra words in each message. */
  readonly padding?: Range;
  /** How often a person asks for a summary. */
  readonly compacts?: Range;
  readonly resets: Range;
  readonly stops: Range;
}

/** Enough for the trials of a few runs that kill their node: each has pauses of more than two minutes (M13). */
export const TRIED_MS = 20 * 60_000;

/** The fields in which a scenario differs from the base. */
export type Changes = Partial<Omit<Scenario, "workload">> & { readonly workload?: Partial<WorkloadShape> };

/** Name, description and changes. */
export type NamedChanges = readonly [string, string, Changes];

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

export const scenario = (name: string, about: string, changed: Changes): Scenario => ({
  ...BASE,
  ...changed,
  name,
  about,
  workload: { ...BASE.workload, ...changed.workload },
});
