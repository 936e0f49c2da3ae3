/** Addresses of agents on other shards: `shard/agent`, the agent by id or session key. Messages go through the sender's outbox (M25). */
import type { DeliveryContext } from "../delivery/delivery.ts";

export const SHARD_CHANNEL = "shard";

export interface ShardAddress {
  readonly shard: string;
  readonly agent: string;
}

const SHAPE = /^([A-Za-z0-9][A-Za-z0-9._-]*)\/(\S+)$/;

/** Undefined if the text does not name an agent on one of these shards. */
export function shardAddress(text: string, shards: readonly string[]): ShardAddress | undefined {
  const [, shard = "", agent = ""] = SHAPE.exec(text.trim()) ?? [];
  return shards.includes(shard) ? { shard, agent } : undefined;
}

export const shardTarget = ({ shard, agent }: ShardAddress): DeliveryContext => ({
  channel: SHARD_CHANNEL,
  accountId: shard,
  to: agent,
});
