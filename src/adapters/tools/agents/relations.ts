/**
 * Which agents may write to each other and read each other. The relation of two agents follows from their parents; the
 * configuration says what each relation allows. A swarm's agent reaches only its contact, in every configuration.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { Relation } from "../../../config/sections/agent-to-agent.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { everyone } from "../../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type PeopleReader, type PersonReader, peopleOf, personOf } from "../../../engine/runtime/people.ts";
import { peopleSettings } from "../../../engine/runtime/people-settings.ts";
import type { Target } from "./find-target.ts";

type Reader = PeopleReader;
export type OwnerReader = PersonReader;
/** The parts of the configuration that decide which agents may reach each other. */
type RelationConfig = Pick<Config, "agentToAgent" | "owner" | "people" | "profiles" | "session">;

const MAX_DEPTH = 64;

/** The top of an agent's tree of parents. The agent itself if it has no parent, or if the parent was removed. */
export async function rootOf(store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<AgentRecord> {
  let at = agent;
  for (let depth = 0; at.descriptor.type === "subagent" && depth < MAX_DEPTH; depth++) {
    const parent = await store.agent(at.descriptor.parentAgentId as AgentId);
    if (!parent) return at;
    at = parent;
  }
  return at;
}

/** Whether an agent's tree begins in one of the owner's own conversations. */
async function isOwners(store: OwnerReader, owner: Config["owner"], agent: AgentRecord): Promise<boolean> {
  const root = await rootOf(store, agent);
  return root.descriptor.type === "user" && worksForOwner(store, owner, root);
}

/**
 * Whether an agent works for the owner: its tree begins in the owner's own conversation, or with something that the
 * installation itself started. Agents of other people and of a swarm's contacts do not. A job's agent works for the
 * conversation that created the job; if that was removed, the answer is no.
 */
const worksForOwner = async (store: OwnerReader, { accounts }: Config["owner"], agent: AgentRecord): Promise<boolean> =>
  (await personOf(store, { ownerAccounts: accounts }, agent, { rights: true })) === OWNER;

/** The conversation that the person of a run wrote to last, never another's. Without a person: the agent's own. */
export async function foregroundFor(
  store: Reader,
  config: RelationConfig,
  agent: AgentRecord,
  person?: PersonId,
): Promise<AgentRecord | undefined> {
  const people = peopleOf(store, peopleSettings(config));
  const whose = person ?? (await people.personOf(agent));
  return whose === undefined ? undefined : people.foregroundOf(whose);
}

/** Whether a relation holds. The most expensive one comes last. */
async function holds(
  store: Reader,
  config: RelationConfig,
  { from, person }: Writer,
  to: Target,
  relation: Relation,
): Promise<boolean> {
  const kind = to.agent?.descriptor.type ?? ("descriptor" in to ? to.descriptor.type : undefined);
  switch (relation) {
    case "any":
      return true;
    case "permanent":
      return kind === "permanent";
    case "system":
      // The heartbeat is the installation's own too.
      return kind === "system" || kind === "heartbeat";
    case "parent":
      return from.descriptor.type === "subagent" && from.descriptor.parentAgentId === to.agent?.id;
    case "foreground":
      return to.agent !== undefined && (await foregroundFor(store, config, from, person))?.id === to.agent.id;
    case "tree":
      return to.agent !== undefined && (await rootOf(store, from)).id === (await rootOf(store, to.agent)).id;
  }
}

interface Writer {
  readonly from: AgentRecord;
  /** The person of its run. */
  readonly person?: PersonId;
}

async function anyHolds(
  store: Reader,
  config: RelationConfig,
  writer: Writer,
  to: Target,
  allowed: readonly Relation[],
): Promise<boolean> {
  for (const relation of allowed) if (await holds(store, config, writer, to, relation)) return true;
  return false;
}

const WRITE_DENIED = "Agent-to-agent messaging denied by agentToAgent.write.";
const READ_DENIED = "Session not visible from this agent: agentToAgent.read does not allow it.";

type Deps = { readonly store: Reader; readonly config: RelationConfig };
type Caller = Pick<ToolContext, "agent" | "behalf">;

/** Throws `DeniedError` if the relation of two agents does not let one write to the other. */
export async function mayWrite({ store, config }: Deps, context: Caller, to: Target): Promise<void> {
  const { agent: from, behalf } = context;
  if (to.agent?.id === from.id) throw new DeniedError("An agent cannot send a message to itself.");
  if (from.descriptor.type === "swarm") {
    if (to.agent?.id === from.descriptor.contact) return;
    throw new DeniedError("Can only message agents that have contacted this swarm");
  }
  if (isGranted(context, to)) return;
  if (!(await anyHolds(store, config, { from, person: behalf?.person }, to, config.agentToAgent.write)))
    throw new DeniedError(WRITE_DENIED);
}

/** Throws `DeniedError` unless one may read the other. The owner's agents read all agents; a swarm's agent only itself. */
export async function mayRead({ store, config }: Deps, context: Caller, of: AgentRecord): Promise<void> {
  const { agent: from } = context;
  if (from.id === of.id) return;
  const isSwarm = from.descriptor.type === "swarm";
  if (!isSwarm && (isGranted(context, { agent: of }) || (await seesAll({ store, config }, context)))) return;
  if (isSwarm || !(await anyHolds(store, config, { from }, { agent: of }, config.agentToAgent.read)))
    throw new DeniedError(READ_DENIED);
}

/** Whether someone other than the owner was granted another person's agent by name: then the relation does not matter. */
function isGranted({ behalf }: Caller, { agent }: Target): boolean {
  if (!behalf || agent?.person === undefined) return false;
  return behalf.person !== OWNER && !everyone(behalf).includes(agent.person);
}

/** Whether a run acts for the owner alone, in one of the owner's own trees. */
export const seesAll = async ({ store, config }: Deps, { agent, behalf }: Caller): Promise<boolean> =>
  (behalf === undefined || everyone(behalf).every((one) => one === OWNER)) &&
  (await isOwners(store, config.owner, agent));
