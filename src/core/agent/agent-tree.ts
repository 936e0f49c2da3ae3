/** The tree of agents: which agent started which, the state of each and what it has used. Bounded, for screens and streams. */

import type { AgentId, RunId } from "../ids.ts";
import type { AgentRecord } from "./agent.ts";
import type { AgentKind } from "./descriptor.ts";

/** How much of the tree is read: by default, and at most. */
export const TREE_LIMITS = { depth: 5, agents: 200, maxDepth: 64, maxAgents: 2_000 } as const;

export interface TreeNode {
  readonly id: AgentId;
  readonly sessionKey: string;
  readonly kind: AgentKind;
  readonly name: string;
  readonly state: "running" | "waiting" | "resting" | "stopped";
  /** Messages that wait in its inbox. */
  readonly waiting: number;
  readonly runId?: RunId;
  /** The agents its run waits for. */
  readonly waitsFor?: readonly { readonly id: AgentId; readonly name?: string }[];
  /** What it has used itself over its life. */
  readonly tokens: number;
  /** What was charged to it, and to its whole tree, if budgets count that. */
  readonly spent?: { readonly tokens: number; readonly micros: number };
  readonly treeSpent?: { readonly tokens: number; readonly micros: number };
  readonly lastActivityAt: number;
  readonly children: readonly TreeNode[];
  /** It has children that are not shown: too deep, or too many. */
  readonly more?: true;
}

export interface AgentTree {
  readonly at: number;
  readonly roots: readonly TreeNode[];
  /** There are more roots than are shown. */
  readonly more: boolean;
}

export interface TreeOptions {
  /** The agent to begin with. Absent: all agents without a parent, the newest first. */
  readonly root?: AgentId;
  /** How many levels below the roots. */
  readonly depth?: number;
  /** How many agents in all. */
  readonly limit?: number;
  /** Which agents are shown. Absent: all. An agent below one that is not shown is not shown either. */
  readonly shows?: (agent: AgentRecord) => boolean;
}
