/** Finds an agent by its id, its session key, or the last part of the key, such as `main`. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { findAgentByName } from "../gateway/messages/address.ts";

export async function findAgent(store: StoreReader, who: string, mainKey?: string): Promise<AgentRecord> {
  const agent = await findAgentByName(store, who, mainKey);
  if (agent) return agent;
  throw new NotFoundError(`There is no agent "${who}".`, { hint: "Run `rookery agents` to see all agents." });
}
