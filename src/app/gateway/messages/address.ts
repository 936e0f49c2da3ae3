/** The recipients a caller can name: the configured profiles, and agents by id or session key. */
import type { Config } from "../../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { type AgentId, isAgentId, type SessionKey } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";

export const API_CONNECTOR = "api";

export const profilesOf = (config: Pick<Config, "profiles">): readonly string[] => [
  ...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)]),
];

/** An agent by its id or its session key. */
export async function findAgent(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
): Promise<AgentRecord | undefined> {
  const byId = isAgentId(name) ? await store.agent(name as AgentId) : undefined;
  return byId ?? (await store.agentByKey(name as SessionKey));
}
