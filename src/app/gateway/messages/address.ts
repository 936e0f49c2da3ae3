/** The recipients a caller can name: the configured profiles, and agents by id, session key or name. */
import type { Config } from "../../../config/config-schema.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { readSessionKey, sessionKeyCandidates } from "../../../core/agent/key-shape.ts";
import { permanentKey, sessionKeyOf } from "../../../core/agent/session-key.ts";
import type { DeliveryContext } from "../../../core/delivery/delivery.ts";
import { API_CHANNEL, apiMailbox, OWNER_MAILBOX } from "../../../core/delivery/route.ts";
import type { InvalidInputError } from "../../../core/errors.ts";
import { type AgentId, isAgentId, type SessionKey } from "../../../core/ids.ts";
import { isReservedUser } from "../../../core/people/api-user.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { sameForm } from "../../../core/same-id.ts";
import { type NameReader, namerOf } from "../../../core/store/agent-names.ts";
import type { Store } from "../../../core/store/store.ts";
import { severalNamed } from "../../../core/typed-name.ts";
import type { Address } from "../../../engine/agents/message-ingress.ts";
import { type Principal, ROOT } from "../auth/principal.ts";
import { behalfOf, speakerOf } from "../auth/speaker.ts";

export const API_CONNECTOR = API_CHANNEL;

export const profilesOf = (config: Pick<Config, "profiles">): readonly string[] => [
  ...new Set([DEFAULT_PROFILE, ...Object.keys(config.profiles)]),
];

/** The address of an API user's conversation. The first message to it creates it. */
export function conversationOf(
  config: { readonly session: Pick<Partial<Config["session"]>, "identityLinks"> },
  profile: string,
  user: string,
) {
  const descriptor = { type: "user", connector: API_CONNECTOR, userId: user, channelId: user } as const;
  // Without the owner's accounts and session.dmScope: every API user has a separate conversation.
  const sessionKey = sessionKeyOf(descriptor, profile, { identityLinks: config.session.identityLinks });
  return { descriptor, profile, sessionKey } satisfies Address;
}

/**
 * The same by its session key, for the user that this token means by the name in it. Undefined for any other key, for a profile
 * that does not exist, and for a name that the token cannot use.
 */
export function conversationByKey(config: Pick<Config, "session" | "profiles">, principal: Principal, key: string) {
  const { kind, channel, accountId, profile = "", id = "", threadId } = readSessionKey(key) ?? {};
  if (kind !== "dm" || channel !== API_CONNECTOR || accountId !== undefined || threadId !== undefined) return undefined;
  if (id.trim() === "" || id.length > MAX_USER || !profilesOf(config).includes(profile)) return undefined;
  // Only the key as it is written for this user: two texts never name one conversation by chance.
  if (conversationOf({ session: {} }, profile, id).sessionKey !== key || !mayName(principal, id)) return undefined;
  const speaker = speakerOf(principal, id);
  return speaker && conversationOf(config, profile, speaker.user);
}

/** A token of a person names only that person; the names of applications and persons belong to their tokens. */
function mayName({ kind, person, user }: Principal, id: string): boolean {
  if (kind === "person") return id === person;
  return !isReservedUser(id) && (user === undefined || user === id) && id.isWellFormed() && !/\p{Cc}/u.test(id);
}

/** Who sends a message, for its identity (M18): the person, or the application and its user. Each name a token may not use is another. */
export function senderNamed(principal: Principal, user: string | undefined): string {
  const isUsable = user === undefined || mayName(principal, user);
  const speaker = isUsable ? speakerOf(principal, user) : undefined;
  if (speaker) return speaker.person;
  const { kind, app = "" } = principal;
  return JSON.stringify([kind === "application" ? `app:${app}` : behalfOf(principal).person, user]);
}

/** The recipient as a caller names it, for the identity of a message (M18). The agent need not exist. */
export const targetNamed = (config: Pick<Config, "session" | "profiles">, principal: Principal, name: string): string =>
  conversationByKey(config, principal, name)?.sessionKey ?? sameForm(name).trim();

/**
 * The person of a message whose sender is the user of the conversation: that user, not the person of the token.
 * Undefined for any other sender.
 */
export function speaksInOwn(
  principal: Principal,
  { descriptor }: Pick<AgentRecord, "descriptor">,
  sender: string | undefined,
): { readonly person: PersonId } | undefined {
  if (sender === undefined || descriptor.type !== "user" || descriptor.connector !== API_CONNECTOR) return undefined;
  const speaker = mayName(principal, sender) ? speakerOf(principal, sender) : undefined;
  return speaker?.user === descriptor.userId ? { person: speaker.person } : undefined;
}

/** As long as the `user` of the OpenAI API may be. */
const MAX_USER = 256;
/** No agent has a longer name. */
const MAX_NAME = 1_000;

/**
 * The agents that a person may mean by a name: the one with this id or session key, else the one whose key ends so, such as `main`,
 * else the permanent agents of this name. These are several if profiles have agents of the same name. Each is a lookup by key.
 */
export async function agentsNamed(
  store: Pick<Store, "agent" | "agentByKey">,
  name: string,
  config: Pick<Config, "session" | "profiles">,
): Promise<readonly AgentRecord[]> {
  const exact = await findAgent(store, name);
  if (exact) return [exact];
  const { mainKey } = config.session;
  for (const key of sessionKeyCandidates(name, { agentId: DEFAULT_PROFILE, mainKey })) {
    const agent = await store.agentByKey(key as SessionKey);
    if (agent) return [agent];
  }
  if (name.length > MAX_NAME) return [];
  const keys = new Set(profilesOf(config).map((profile) => permanentKey(name, profile)));
  const found = await Promise.all([...keys].map((key) => store.agentByKey(key)));
  // An agent that is being removed does not count.
  return found.flatMap((agent) => (agent && !agent.stopped?.removing ? [agent] : []));
}

/** The error for a name that fits several agents. */
export async function severalAgents(
  store: NameReader,
  typed: string,
  agents: readonly AgentRecord[],
): Promise<InvalidInputError> {
  const namer = namerOf(store);
  const named = await Promise.all(agents.map(async (agent) => ({ id: agent.id, name: await namer.name(agent) })));
  return severalNamed(typed, named);
}

/**
 * Where the answer to a message goes that was posted without waiting for it (M27): to the API user whose conversation it is,
 * otherwise to the mailbox of the token's person.
 */
export function mailboxFor(
  principal: Pick<Principal, "id" | "kind" | "person" | "app" | "user">,
  { descriptor }: Pick<AgentRecord, "descriptor">,
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
  const same = sameForm(name).trim();
  const byId = isAgentId(same) ? await store.agent(same as AgentId) : undefined;
  return byId ?? (await store.agentByKey(same as SessionKey));
}
