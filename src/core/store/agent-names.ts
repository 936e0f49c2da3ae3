/**
 * Reads what the names of agents consist of, and finds the agents of a name. The one place that names agents for routes, commands,
 * chats and texts of the engine; `agent-name.ts` of the core says how a name is written.
 */
import type { AgentRecord } from "../agent/agent.ts";
import { agentName, type NameParts, shortAgentName } from "../agent/agent-name.ts";
import type { AgentId } from "../ids.ts";
import { kindOfPerson, OWNER } from "../people/person.ts";
import { personName } from "../people/person-name.ts";
import { distinctNames, nameMatcher } from "../typed-name.ts";
import type { StoreReader } from "./store.ts";

export type NameReader = Pick<StoreReader, "agent" | "person" | "personByAccount" | "job">;

/** Names agents one after the other, and reads each person, job and agent once. */
export interface Namer {
  /** Not distinct: two agents may get the same one. */
  name(agent: AgentRecord): Promise<string>;
  /** The name of an agent that may be gone. */
  nameById(id: string): Promise<string | undefined>;
  person(id: string): Promise<string>;
}

export function namerOf(store: NameReader): Namer {
  const read = new Map<string, Promise<string | undefined>>();
  const once = (key: string, load: () => Promise<string | undefined>): Promise<string | undefined> => {
    const known = read.get(key) ?? load();
    read.set(key, known);
    return known;
  };
  const recordName = (id: string): Promise<string | undefined> =>
    once(`person ${id}`, async () => {
      const kind = kindOfPerson(id);
      if (kind === "record" || kind === "owner")
        return (await store.person(id))?.name ?? (id === OWNER ? undefined : id);
      const record = kind === "account" ? await store.personByAccount(id) : undefined;
      return record && (record.name ?? record.id);
    });
  const partsOf = async ({ descriptor, person }: AgentRecord): Promise<NameParts> => {
    switch (descriptor.type) {
      case "user":
        return { person: person === undefined ? undefined : await recordName(person) };
      case "cron":
        return descriptor.name === undefined
          ? { job: await once(`job ${descriptor.id}`, async () => (await store.job(descriptor.id))?.name) }
          : {};
      case "subagent":
        return { other: await shortName(descriptor.parentAgentId) };
      case "swarm":
        return { other: await shortName(descriptor.contact) };
      default:
        return {};
    }
  };
  const shortName = (id: string): Promise<string | undefined> =>
    once(`agent ${id}`, async () => {
      const agent = await store.agent(id as AgentId);
      // The name of its own parent is not part of it: a chain of tasks stays short.
      return agent && shortAgentName(agent, agent.descriptor.type === "subagent" ? {} : await partsOf(agent));
    });
  const name = async (agent: AgentRecord): Promise<string> => agentName(agent, await partsOf(agent));
  return {
    name,
    nameById: (id) =>
      once(`name ${id}`, async () => {
        const agent = await store.agent(id as AgentId);
        return agent && name(agent);
      }),
    person: async (id) => personName(id, { name: await recordName(id) }),
  };
}

export const nameOfAgent = (store: NameReader, agent: AgentRecord): Promise<string> => namerOf(store).name(agent);

/** The names of agents in one list, in its order. Equal ones get a suffix. */
export async function namesInList(store: NameReader, agents: readonly AgentRecord[]): Promise<readonly string[]> {
  const namer = namerOf(store);
  const named: { id: string; name: string }[] = [];
  for (const agent of agents) named.push({ id: agent.id, name: await namer.name(agent) });
  return distinctNames(named);
}

/** The same by id; an agent that is gone has none. */
export async function namesById(store: NameReader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const agents: AgentRecord[] = [];
  for (const id of new Set(ids)) {
    const agent = await store.agent(id as AgentId);
    if (agent) agents.push(agent);
  }
  const names = await namesInList(store, agents);
  return new Map(agents.map(({ id }, at) => [id, names[at] ?? ""]));
}

interface NamedAgent {
  readonly agent: AgentRecord;
  readonly name: string;
}

const PAGE = 500;
/** The newest agents are looked at. An older one is found by its id or its session key. */
const MAX_LOOKED_AT = 10_000;
/** More candidates than a message lists. */
const MAX_FOUND = 6;

interface Search {
  /** Also agents whose name begins so, if none has exactly this name. */
  readonly prefix: boolean;
  sees(agent: AgentRecord): boolean;
}

export async function agentsCalled(
  store: NameReader & Pick<StoreReader, "agents">,
  typed: string,
  { prefix, sees }: Search,
): Promise<readonly NamedAgent[]> {
  const fits = nameMatcher(typed);
  const namer = namerOf(store);
  const whole: NamedAgent[] = [];
  const beginning: NamedAgent[] = [];
  let after: AgentId | undefined;
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += PAGE) {
    const page = await store.agents({ limit: PAGE, after, newest: true });
    for (const agent of page) {
      if (agent.stopped?.removing || !sees(agent)) continue;
      const name = await namer.name(agent);
      const how = fits({ id: agent.id, name });
      if (how === "whole") whole.push({ agent, name });
      else if (how === "beginning" && prefix) beginning.push({ agent, name });
    }
    if (page.length < PAGE || whole.length >= MAX_FOUND) break;
    after = page.at(-1)?.id;
  }
  return (whole.length > 0 ? whole : beginning).slice(0, MAX_FOUND);
}
