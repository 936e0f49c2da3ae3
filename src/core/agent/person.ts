/**
 * The person an agent belongs to, as text: `owner`, `api:ann`, `telegram:42`, `telegram:group:-100`, `link:ann` for the ids of one
 * linked person. The only place that makes such a name out of a descriptor.
 */
import type { DeliveryContext } from "../delivery/delivery.ts";
import { API_CHANNEL, OWNER_MAILBOX, PERSON_CHANNEL } from "../delivery/route.ts";
import type { SessionKey } from "../ids.ts";
import { OWNER } from "../people/person.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "./agent.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { linkedName } from "./identity-links.ts";
import { buildAgentMainSessionKey, isOwner, type KeyScoping, sessionKeyOf } from "./session-key.ts";

type UserDescriptor = Extract<AgentDescriptor, { type: "user" }>;
type Sender = Pick<UserDescriptor, "connector" | "userId">;

/** The parts of the configuration that tell people apart. */
export interface PeopleSettings extends KeyScoping {
  /** The role of an account of a channel that belongs to no record. */
  readonly unknown?: "stranger" | "guest";
  readonly profiles?: readonly string[];
}

/** The person who writes with this id on this channel. */
function personOfSender(sender: Sender, settings: PeopleSettings): string {
  if (isOwner(sender, settings.ownerAccounts)) return OWNER;
  const linked = linkedName(settings.identityLinks, sender.connector, sender.userId);
  return linked === undefined ? `${sender.connector}:${sender.userId}` : `link:${linked}`;
}

/** The person, or the group, of a conversation: the one of its first message. */
export function personOfConversation(descriptor: UserDescriptor, settings: PeopleSettings): string {
  const { connector, channelId, peerKind = "dm" } = descriptor;
  return peerKind === "dm" ? personOfSender(descriptor, settings) : `${connector}:${peerKind}:${channelId}`;
}

/** Whether a key belongs to the main conversation of its profile or to one of its threads. It is the owner's, also if others share it. */
export function isMainConversation(
  { sessionKey, profile }: Pick<AgentRecord, "sessionKey" | "profile">,
  { mainKey }: PeopleSettings,
): boolean {
  const main = buildAgentMainSessionKey({ agentId: profile, mainKey });
  return sessionKey === main || sessionKey.startsWith(`${main}:thread:`);
}

/** The keys under which a person's direct conversation may exist, one per profile. Empty for linked people. */
export function keysOfPerson(person: string, settings: PeopleSettings): readonly SessionKey[] {
  const { profiles = [DEFAULT_PROFILE], mainKey } = settings;
  if (person === OWNER) {
    return profiles.map((profile) => buildAgentMainSessionKey({ agentId: profile, mainKey }) as SessionKey);
  }
  const [, connector, kind, id] = /^([^:]+):(?:(group|channel):)?(.+)$/su.exec(person) ?? [];
  if (connector === undefined || connector === "link" || id === undefined) return [];
  const peerKind = kind as UserDescriptor["peerKind"];
  const descriptor: UserDescriptor = { type: "user", connector, userId: id, channelId: id, peerKind };
  return profiles.map((profile) => sessionKeyOf(descriptor, profile, settings));
}

/**
 * Whether a message makes its origin the route of its agent. Only the agent's own person does: a stranger in a shared
 * conversation, or an operator who posts over the API, gets the answer and changes no route. `writer`: as `connector:id`.
 */
export function setsRoute(
  agent: Pick<AgentRecord, "descriptor" | "sessionKey" | "profile">,
  writer: string | undefined,
  origin: DeliveryContext,
  settings: PeopleSettings,
): boolean {
  const { descriptor } = agent;
  if (origin.channel === PERSON_CHANNEL) return false;
  if (descriptor.type !== "user") return true;
  const person = isMainConversation(agent, settings) ? OWNER : personOfConversation(descriptor, settings);
  if (origin.channel === API_CHANNEL) return personOfMailbox(origin, settings) === person;
  if ((descriptor.peerKind ?? "dm") !== "dm" || writer === undefined) return true;
  const at = writer.indexOf(":");
  return personOfSender({ connector: writer.slice(0, at), userId: writer.slice(at + 1) }, settings) === person;
}

function personOfMailbox({ accountId, to = "" }: DeliveryContext, settings: PeopleSettings): string | undefined {
  if (accountId === OWNER_MAILBOX.accountId && to === OWNER_MAILBOX.to) return OWNER;
  return accountId === undefined ? personOfSender({ connector: API_CHANNEL, userId: to }, settings) : undefined;
}
