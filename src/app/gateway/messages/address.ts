/** The recipients a caller can name: the configured profiles, and agents by id or session key. */
import type { Config } from "../../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { sessionKeyCandidates } from "../../../core/agent/key-shape.ts";
import { DEFAULT_MAIN_KEY } from "../../../core/agent/session-key.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import { API_CHANNEL, apiMailbox, OWNER_MAILBOX } from "../../../core/delivery/route.ts";
import { type AgentId, isAgentId, type SessionKey } from "../../../core/ids.ts";
import type { Store } from "../../../core/store/store.ts";
import { type Principal, ROOT } from "../auth/principal.ts";
import { speakerOf } from "../auth/speaker.ts";

export const API_CONNECTOR = API_CHANNEL;

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

/**
 * Where the answer to a message goes that was posted without waiting for it (M27): to the API user whose conversation it is,
 * otherwise to the mailbox of the token's person.
 */
export function mailboxFor(
  principal: Pick<Principal, "id" | "kind" | "person" | "app" | "user">,
  { descriptor }: AgentRecord,
): DeliveryContext {
  const { id } = principal;
  if (descriptor.type === "user" && descriptor.connector === API_CONNECTOR) return apiMailbox(descriptor.channelId);
  const speaker = speakerOf(principal, undefined);
  if (speaker) return apiMailbox(speaker.user);
  return id === ROOT ? OWNER_MAILBOX : { channel: API_CONNECTOR, accountId: id, to: id };
}

/** An agent by its id or its session key. */
export async function findAgent(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
): Promise<AgentRecord | undefined> {
  const byId = isAgentId(name) ? await store.agent(name as AgentId) : undefined;
  return byId ?? (await store.agentByKey(name as SessionKey));
}
