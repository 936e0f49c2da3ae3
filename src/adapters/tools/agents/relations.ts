/**
 * Which agents may write to each other and read each other. The relation of two agents follows from their parents; the
 * configuration says what each relation allows. A swarm's agent reaches only its contact, in every configuration.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { Relation } from "../../../config/sections/agent-to-agent.ts";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { isOwner } from "../../../core/agent/session-key.ts";
import { DeniedError } from "../../../core/errors.ts";
import type { AgentId, SessionKey } from "../../../core/ids.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { Target } from "./find-target.ts";

type Reader = OwnerReader & Pick<StoreReader, "agentFor">;
export type OwnerReader = Pick<StoreReader, "agent" | "agentByKey" | "job">;

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
export async function isOwners(
  store: Pick<StoreReader, "agent">,
  { accounts }: Config["owner"],
  agent: AgentRecord,
): Promise<boolean> {
  const { descriptor } = await rootOf(store, agent);
  return descriptor.type === "user" && (descriptor.peerKind ?? "dm") === "dm" && isOwner(descriptor, accounts);
}

/**
 * Whether an agent works for the owner: its tree begins in the owner's own conversation, or with something that the
 * installation itself started. Agents of other people and of a swarm's contacts do not. A job's agent works for the
 * conversation that created the job; if that was removed, the answer is no.
 */
export async function worksForOwner(
  store: OwnerReader,
  owner: Config["owner"],
  agent: AgentRecord,
  depth = 0,
): Promise<boolean> {
  const { descriptor } = await rootOf(store, agent);
  if (descriptor.type === "user") return isOwners(store, owner, agent);
  if (descriptor.type !== "cron") return descriptor.type !== "swarm" && descriptor.type !== "subagent";
  const key = (await store.job(descriptor.id))?.sessionKey;
  if (key === undefined) return true;
  const maker = await store.agentByKey(key as SessionKey);
  return maker !== undefined && depth < MAX_DEPTH && worksForOwner(store, owner, maker, depth + 1);
}

/** Whether a relation holds. The most expensive one comes last. */
async function holds(
  store: Reader,
  owner: Config["owner"],
  from: AgentRecord,
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
      return kind === "system" && (await worksForOwner(store, owner, from));
    case "parent":
      return from.descriptor.type === "subagent" && from.descriptor.parentAgentId === to.agent?.id;
    case "foreground":
      return to.agent !== undefined && (await store.agentFor("most-recent-foreground"))?.id === to.agent.id;
    case "tree":
      return to.agent !== undefined && (await rootOf(store, from)).id === (await rootOf(store, to.agent)).id;
  }
}

async function anyHolds(
  store: Reader,
  owner: Config["owner"],
  from: AgentRecord,
  to: Target,
  allowed: readonly Relation[],
): Promise<boolean> {
  for (const relation of allowed) if (await holds(store, owner, from, to, relation)) return true;
  return false;
}

export const WRITE_DENIED = "Agent-to-agent messaging denied by agentToAgent.write.";
export const READ_DENIED = "Session not visible from this agent: agentToAgent.read does not allow it.";

/** Throws `DeniedError` if `from` may not write to `to`. */
export async function mayWrite(
  store: Reader,
  config: Pick<Config, "agentToAgent" | "owner">,
  from: AgentRecord,
  to: Target,
) {
  if (to.agent?.id === from.id) throw new DeniedError("An agent cannot send a message to itself.");
  if (from.descriptor.type === "swarm") {
    if (to.agent?.id === from.descriptor.contact) return;
    throw new DeniedError("Can only message agents that have contacted this swarm");
  }
  if (!(await anyHolds(store, config.owner, from, to, config.agentToAgent.write))) throw new DeniedError(WRITE_DENIED);
}

/** Whether `from` may list and read `of`. The owner's agents may read all agents; a swarm's agent only itself. */
export async function mayRead(
  store: Reader,
  config: Pick<Config, "agentToAgent" | "owner">,
  from: AgentRecord,
  of: AgentRecord,
): Promise<boolean> {
  if (from.id === of.id) return true;
  if (from.descriptor.type === "swarm") return false;
  if (await isOwners(store, config.owner, from)) return true;
  return anyHolds(store, config.owner, from, { agent: of }, config.agentToAgent.read);
}
