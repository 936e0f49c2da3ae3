/** Finds an agent by its id, its session key, or the last part of the key, such as `main`. */
import { type AgentRecord, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import { sessionKeyCandidates } from "../../core/agent/key-shape.ts";
import { DEFAULT_MAIN_KEY } from "../../core/agent/session-key.ts";
import { NotFoundError } from "../../core/errors.ts";
import { isAgentId, type SessionKey } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

export async function findAgent(store: StoreReader, who: string, mainKey = DEFAULT_MAIN_KEY): Promise<AgentRecord> {
  const byId = isAgentId(who) ? await store.agent(who) : undefined;
  if (byId) return byId;
  for (const key of [who, ...sessionKeyCandidates(who, { agentId: DEFAULT_PROFILE, mainKey })]) {
    const agent = await store.agentByKey(key as SessionKey);
    if (agent) return agent;
  }
  throw new NotFoundError(`There is no agent "${who}".`, { hint: "Run `rookery agents` to see all agents." });
}
