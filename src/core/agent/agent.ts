/** An agent as the store keeps it: identity, counters, ownership and state in one row. */

import type { AgentId, EntryId, RunId, SessionId, SessionKey } from "../ids.ts";
import type { PersonId } from "../people/person.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import type { AgentState } from "./state.ts";

/** The profile of an agent unless the configuration names another. */
export const DEFAULT_PROFILE = "main";

export interface AgentRecord {
  readonly id: AgentId;
  readonly sessionKey: SessionKey;
  readonly profile: string;
  /** The person it belongs to. Absent: it was created by an earlier version, and follows from the descriptor. */
  readonly person?: PersonId;
  readonly descriptor: AgentDescriptor;
  readonly state: AgentState;
  readonly sessionId: SessionId;
  /** The sequence the next accepted message gets. */
  readonly nextSeq: number;
  /** No message at or below this sequence waits. */
  readonly cursor: number;
  /** How many messages wait. */
  readonly waiting: number;
  /** The position the next entry gets, and the entry at the tip of the current branch. */
  readonly nextPos: number;
  readonly leaf: EntryId;
  /** The run that has not ended, if any: at most one (L3). */
  readonly runId?: RunId;
  /** Whether its run waits for a person (M31). */
  readonly suspended?: true;
  /** The node that holds the agent, and the number of claims so far; every commit of the owner names both (M1). */
  readonly node?: number;
  readonly epoch: number;
  /** When a person last wrote to it. `most-recent-foreground` compares this. */
  readonly lastHumanAt?: number;
  readonly stopped?: StopMark;
  readonly createdAt: number;
}

export interface StopMark {
  readonly at: number;
  readonly reason: string;
  /** The sequence of the next message: one with this or a later sequence came after the stop. Set by the store. */
  readonly seq?: number;
  /** The agent is removed for good as soon as it rests. Its waiting messages are settled as removed. */
  readonly removing?: true;
  /** The agent was removed: its address is free, its inbox accepts nothing, its history is deleted or kept. Final. */
  readonly removed?: true;
}

/** What creates an agent. Two first messages create one agent: the session key is unique (M3). */
export interface AgentSeed {
  readonly id: AgentId;
  readonly sessionKey: SessionKey;
  readonly profile: string;
  readonly person?: PersonId;
  readonly descriptor: AgentDescriptor;
  readonly state: AgentState;
  readonly sessionId: SessionId;
  /** The lines a history begins with: the session header and the `start` marker, the leaf last. */
  readonly lines: readonly string[];
  readonly leaf: EntryId;
  readonly createdAt: number;
  /** The files that these lines refer to, if they come from another agent's history. */
  readonly holds?: readonly string[];
}
