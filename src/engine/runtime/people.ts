/**
 * Finds the person an agent works for, and where a person can be reached. Every part of the engine that picks a conversation for a
 * person asks here, so that a stranger's message never redirects what is meant for someone else.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import {
  isMainConversation,
  keysOfPerson,
  type PeopleSettings,
  personOfConversation,
  setsRoute,
} from "../../core/agent/person.ts";
import { whereItSpeaks } from "../../core/agent/speaking-target.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { API_CHANNEL, apiMailbox, OWNER_MAILBOX, personAddress } from "../../core/delivery/route.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import { apiUserOf } from "../../core/people/api-user.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import { groupOf, isRecordId, OWNER, type PersonId } from "../../core/people/person.ts";
import type { StoreReader } from "../../core/store/store.ts";
import {
  type Directory,
  type DirectoryReader,
  directoryOf,
  type Identity,
  NO_IDENTITY,
  type PeopleNow,
} from "../people/directory.ts";
import { personOfNew } from "../people/on-behalf.ts";

export type PersonReader = Pick<StoreReader, "agent" | "agentByKey" | "job">;
export type PeopleReader = PersonReader & DirectoryReader & Pick<StoreReader, "recentForeground" | "fact">;

export interface People {
  readonly directory: Directory;
  /** The person an agent belongs to; undefined if its parent or the conversation it came from no longer exists. */
  personOf(agent: AgentRecord): Promise<PersonId | undefined>;
  /** The person a new agent belongs to. `behalf`: of the message that makes it. */
  personOfNew(agent: NewAgent, behalf: Behalf | undefined): Promise<PersonId | undefined>;
  /** The conversation this person wrote to last. */
  foregroundOf(person: string): Promise<AgentRecord | undefined>;
  /** Where this person can be reached; undefined if nowhere yet. */
  routeTo(person: string): Promise<DeliveryContext | undefined>;
  /** The same as an address in any case: without a route, the person's name, so that the delivery is listed (M26). */
  addressOf(person: string): Promise<DeliveryContext>;
  /** Where a conversation speaks to its person; undefined if it has no route or no person. */
  routeOf(agent: AgentRecord): DeliveryContext | undefined;
  /** The route of a conversation, by its session key; without one, an address that is routed when it has one. */
  addressOfConversation(sessionKey: SessionKey): Promise<DeliveryContext>;
  /** Whether a message from this writer and origin becomes its agent's route. */
  setsRoute(agent: AgentRecord, writer: string | undefined, origin: DeliveryContext): boolean;
}

/** Set when the owner has opened the mailbox of the API: from then on it is a route. */
export const OWNER_READS = "mailbox:owner";

const MAX_DEPTH = 64;
/** How many of the latest conversations are searched, besides those whose key follows from the person. */
const RECENT = 50;

/** A new agent, before it is stored. */
interface NewAgent {
  readonly descriptor: AgentDescriptor;
  readonly profile: string;
  readonly sessionKey: SessionKey;
}

export function peopleOf(
  store: PeopleReader,
  settings: Identity = NO_IDENTITY,
  directory: Directory = directoryOf({ store, clock: { now: () => 0 } }, settings),
): People {
  const routeOf = (agent: AgentRecord): DeliveryContext | undefined => {
    const { identity } = settings.current;
    return isMainConversation(agent, identity) ? routeOfAgent(agent, OWNER, identity) : whereItSpeaks(agent);
  };
  const routeTo = async (person: string): Promise<DeliveryContext | undefined> => {
    if (isConversation(person)) {
      const conversation = await store.agentByKey(person as SessionKey);
      return conversation && routeOf(conversation);
    }
    const now = await directory.recent();
    const { identity } = settings.current;
    const agent = await foregroundOf(store, identity, now, person as PersonId);
    const route = agent && routeOfAgent(agent, person, identity, now);
    if (route) return route;
    if (person === OWNER) return (await store.fact(OWNER_READS)) === undefined ? undefined : OWNER_MAILBOX;
    // Users of the API and of applications have a mailbox from the start.
    const users = namesOf(now, person as PersonId).filter((name) => !isRecordId(name));
    const user = users.map(apiUserOf).find((name) => name !== undefined);
    return user === undefined ? undefined : apiMailbox(user);
  };
  return {
    directory,
    personOf: async (agent) =>
      agent.person ?? ((await personOf(store, settings.current.identity, agent)) as PersonId | undefined),
    personOfNew: async (agent, behalf) =>
      personOfNewAgent(store, settings.current.identity, await directory.recent(), agent, behalf),
    foregroundOf: async (person) =>
      foregroundOf(store, settings.current.identity, await directory.recent(), person as PersonId),
    routeTo,
    addressOf: async (person) => (await routeTo(person)) ?? personAddress(person),
    routeOf,
    async addressOfConversation(key) {
      const agent = await store.agentByKey(key);
      const route = agent && routeOf(agent);
      if (route) return route;
      return keysOfPerson(OWNER, settings.current.identity).includes(key) ? this.addressOf(OWNER) : personAddress(key);
    },
    setsRoute: (agent, writer, origin) => setsRoute(agent, writer, origin, settings.current.identity),
  };
}

/** A conversation can stand for its person in an address: then only that conversation's route counts. */
const isConversation = (person: string): boolean => person.startsWith("agent:");

/** `rights`: whose rights it has. A swarm's agent speaks with its contact and has the rights of no one. */
export async function personOf(
  store: PersonReader,
  settings: PeopleSettings,
  agent: AgentRecord,
  { rights = false }: { readonly rights?: boolean } = {},
): Promise<string | undefined> {
  let at: AgentRecord | undefined = agent;
  for (let depth = 0; at !== undefined && depth < MAX_DEPTH; depth++) {
    const { descriptor }: AgentRecord = at;
    switch (descriptor.type) {
      case "user":
        return personOfConversation(descriptor, settings);
      case "subagent":
        at = await store.agent(descriptor.parentAgentId as AgentId);
        break;
      case "swarm":
        at = rights ? undefined : await store.agent(descriptor.contact as AgentId);
        break;
      case "cron": {
        // A job works for the conversation that created it; one without a conversation works for the owner.
        const key = (await store.job(descriptor.id))?.sessionKey;
        if (key === undefined) return OWNER;
        at = await store.agentByKey(key as SessionKey);
        break;
      }
      default:
        return OWNER;
    }
  }
  return undefined;
}

async function personOfNewAgent(
  store: PersonReader,
  settings: PeopleSettings,
  now: PeopleNow,
  { descriptor, profile, sessionKey }: NewAgent,
  behalf: Behalf | undefined,
): Promise<PersonId | undefined> {
  if (descriptor.type === "swarm") return (await store.agent(descriptor.contact as AgentId))?.person ?? behalf?.person;
  if (descriptor.type !== "user") return personOfNew(descriptor.type, behalf?.person, behalf?.person);
  const { connector, userId, channelId, peerKind = "dm" } = descriptor;
  if (isMainConversation({ sessionKey, profile }, settings)) return OWNER;
  if (peerKind !== "dm") return groupOf(connector, peerKind, channelId);
  return behalf?.person ?? now.sender(connector, userId);
}

/** A person and the accounts under which that person may be known. */
const namesOf = (now: PeopleNow, person: PersonId): readonly PersonId[] => [
  person,
  ...((now.record(person)?.accounts ?? []) as readonly PersonId[]),
];

/** The keys under which a person's conversations may exist. */
function keysOf(now: PeopleNow, person: PersonId, settings: PeopleSettings): readonly SessionKey[] {
  const user = apiUserOf(person);
  const names = [...namesOf(now, person), ...(user === undefined ? [] : [`${API_CHANNEL}:${user}`])];
  return [...new Set(names.flatMap((name) => keysOfPerson(name, settings)))];
}

async function foregroundOf(
  store: PeopleReader,
  settings: PeopleSettings,
  now: PeopleNow,
  person: PersonId,
): Promise<AgentRecord | undefined> {
  const byKey = await Promise.all(keysOf(now, person, settings).map((key) => store.agentByKey(key)));
  const recent = await store.recentForeground({ limit: RECENT });
  let latest: AgentRecord | undefined;
  for (const agent of [...byKey, ...recent]) {
    if (agent?.lastHumanAt === undefined || agent.stopped?.removed) continue;
    if (
      agent.lastHumanAt > (latest?.lastHumanAt ?? Number.NEGATIVE_INFINITY) &&
      belongsTo(agent, person, settings, now)
    ) {
      latest = agent;
    }
  }
  return latest;
}

/** Two names are one person if they belong to the same record now. */
function belongsTo(agent: AgentRecord, person: PersonId, settings: PeopleSettings, now: PeopleNow): boolean {
  const { descriptor } = agent;
  if (descriptor.type !== "user") return false;
  if (isMainConversation(agent, settings)) return person === OWNER;
  const own = agent.person ?? (personOfConversation(descriptor, settings) as PersonId);
  return now.personOf(own) === now.personOf(person);
}

/** A main conversation that a stranger began has the owner's route only if the owner has written there since. */
function routeOfAgent(
  agent: AgentRecord,
  person: string,
  settings: PeopleSettings,
  now?: PeopleNow,
): DeliveryContext | undefined {
  const { descriptor, state } = agent;
  if (state.deliveryContext) return state.deliveryContext;
  if (descriptor.type !== "user") return undefined;
  const began = personOfConversation(descriptor, settings) as PersonId;
  const own = began === person || (now !== undefined && now.personOf(began) === now.personOf(person as PersonId));
  return own ? whereItSpeaks(agent) : undefined;
}
