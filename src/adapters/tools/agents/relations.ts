/**
 * Which agents may write to each other and read each other. The relation of two agents follows from their parents; the
 * configuration says what each relation allows. A swarm's agent reaches only its contact, in every configuration.
 */
import type { Relation } from "../../../config/sections/agent-to-agent.ts";
import type { Settings } from "../../../config/settings.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { Current } from "../../../core/current.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import { everyone } from "../../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import type { ToolContext } from "../../../core/ports/tool.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type PeopleReader, type PersonReader, peopleOf, personOf } from "../../../engine/runtime/people.ts";
import type { Target } from "./find-target.ts";

type Reader = PeopleReader;
export type OwnerReader = PersonReader;
/** The settings that decide which agents may reach each other. */
type RelationSettings = Pick<Settings, "agentToAgent" | "identity" | "owner">;

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
async function isOwners(store: OwnerReader, owner: Settings["owner"], agent: AgentRecord): Promise<boolean> {
  const root = await rootOf(store, agent);
  return root.descriptor.type === "user" && worksForOwner(store, owner, root);
}

/**
 * Whether an agent works for the owner: its tree begins in the owner's own conversation, or with something that the
 * installation itself started. Agents of other people and of a swarm's contacts do not. A job's agent works for the
 * conversation that created the job; if that was removed, the answer is no.
 */
const worksForOwner = async (
  store: OwnerReader,
  { accounts }: Settings["owner"],
  agent: AgentRecord,
): Promise<boolean> => (await personOf(store, { ownerAccounts: accounts }, agent, { rights: true })) === OWNER;

/** The conversation that the person of a run wrote to last, never another's. Without a person: the agent's own. */
export async function foregroundFor(
  store: Reader,
  settings: RelationSettings,
  agent: AgentRecord,
  person?: PersonId,
): Promise<AgentRecord | undefined> {
  const people = peopleOf(store, { current: settings });
  const whose = person ?? (await people.personOf(agent));
  return whose === undefined ? undefined : people.foregroundOf(whose);
}

/** Whether a relation holds. The most expensive one comes last. */
async function holds(
  store: Reader,
  settings: RelationSettings,
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
      return to.agent !== undefined && (await foregroundFor(store, settings, from, person))?.id === to.agent.id;
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
  settings: RelationSettings,
  writer: Writer,
  to: Target,
  allowed: readonly Relation[],
): Promise<boolean> {
  for (const relation of allowed) if (await holds(store, settings, writer, to, relation)) return true;
  return false;
}

const WRITE_DENIED = "Agent-to-agent messaging denied by agentToAgent.write.";
const READ_DENIED = "Session not visible from this agent: agentToAgent.read does not allow it.";

type Deps = { readonly store: Reader; readonly settings: Current<RelationSettings> };
type Caller = Pick<ToolContext, "agent" | "behalf">;

/** Throws `DeniedError` if the relation of two agents does not let one write to the other. */
export async function mayWrite({ store, settings: { current } }: Deps, context: Caller, to: Target): Promise<void> {
  const { agent: from, behalf } = context;
  if (to.agent?.id === from.id) throw new DeniedError("An agent cannot send a message to itself.");
  if (from.descriptor.type === "swarm") {
    if (to.agent?.id === from.descriptor.contact) return;
    throw new DeniedError("Can only message agents that have contacted this swarm");
  }
  if (isGranted(context, to)) return;
  if (!(await anyHolds(store, current, { from, person: behalf?.person }, to, current.agentToAgent.write)))
    throw new DeniedError(WRITE_DENIED);
}

/** Throws `DeniedError` unless one may read the other. The owner's agents read all agents; a swarm's agent only itself. */
export async function mayRead({ store, settings }: Deps, context: Caller, of: AgentRecord): Promise<void> {
  const { agent: from } = context;
  if (from.id === of.id) return;
  const isSwarm = from.descriptor.type === "swarm";
  if (!isSwarm && (isGranted(context, { agent: of }) || (await seesAll({ store, settings }, context)))) return;
  const { current } = settings;
  if (isSwarm || !(await anyHolds(store, current, { from }, { agent: of }, current.agentToAgent.read)))
    throw new DeniedError(READ_DENIED);
}

/** Whether someone other than the owner was granted another person's agent by name: then the relation does not matter. */
function isGranted({ behalf }: Caller, { agent }: Target): boolean {
  if (!behalf || agent?.person === undefined) return false;
  return behalf.person !== OWNER && !everyone(behalf).includes(agent.person);
}

/** Whether a run acts for the owner alone, in one of the owner's own trees. */
export const seesAll = async ({ store, settings }: Deps, { agent, behalf }: Caller): Promise<boolean> =>
  (behalf === undefined || everyone(behalf).every((one) => one === OWNER)) &&
  (await isOwners(store, settings.current.owner, agent));
