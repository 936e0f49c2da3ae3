/** Shared by the people and the agents of the killed process, and the format of their promises on the pipe. */

import type { AgentId, Ids } from "../../../src/core/ids.ts";
import type { Change, Op, OpResult, Owner } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { Random } from "../../kit/random.ts";

export interface ActorRegistry {
  readonly store: Store;
  readonly ids: Ids;
  readonly node: number;
  /** Which life of the home this is; tokens of different lives differ. */
  readonly round: string;
  readonly random: Random;
  readonly agents: number;
  readonly say: (line: string) => void;
  /** Wakes an agent that waits for messages. Has no entry for an agent without a loop. */
  readonly wake: Map<AgentId, () => void>;
  /** Calls back when a message arrives for an agent without a loop. */
  onNewAgent(callback: () => void): void;
  newAgent(): void;
  /** The mutation that the audit must find: promises are made before the commit. */
  readonly ackEarly: boolean;
}

/** Commits. A refusal is a bug in this program and ends it. */
export async function commit(
  { store, ids }: ActorRegistry,
  site: string,
  ops: readonly Op[],
  owner?: Owner,
): Promise<readonly (OpResult | undefined)[]> {
  const change: Change = { id: ids.change(), site, at: Date.now(), ops, owner };
  const result = await store.commit(change);
  if (!result.ok) throw new Error(`${site} was refused as ${result.refused}: ${result.detail}`);
  return result.results;
}

/** The promises: a message was accepted, or answered. */
export const acceptedLine = (agentId: AgentId, seq: number, token: string): string =>
  `accepted ${agentId} ${seq} ${token}`;
export const answeredLine = (agentId: AgentId, seq: number, token: string): string =>
  `answered ${agentId} ${seq} ${token}`;
