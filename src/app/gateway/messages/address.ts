/** The recipients a caller can name: the configured profiles, and agents by id or session key. */
import type { Config } from "../../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { sessionKeyCandidates } from "../../../core/agent/key-shape.ts";
import { DEFAULT_MAIN_KEY } from "../../../core/agent/session-key.ts";
import { type AgentId, isAgentId, type SessionKey } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";

export const API_CONNECTOR = "api";

export const profilesOf = (config: Pick<Config, "profiles">): readonly string[] => [
  ...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)]),
];

/** An agent as a person names it: by its id, its session key, or the last part of the key, such as `main`. */
export async function findAgentByName(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
  mainKey = DEFAULT_MAIN_KEY,
): Promise<AgentRecord | undefined> {
  const exact = await findAgent(store, name);
  if (exact) return exact;
  for (const key of sessionKeyCandidates(name, { agentId: DEFAULT_PROFILE, mainKey })) {
    const agent = await store.agentByKey(key as SessionKey);
    if (agent) return agent;
  }
  return undefined;
}

/** An agent by its id or its session key. */
export async function findAgent(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
): Promise<AgentRecord | undefined> {
  const byId = isAgentId(name) ? await store.agent(name as AgentId) : undefined;
  return byId ?? (await store.agentByKey(name as SessionKey));
}
