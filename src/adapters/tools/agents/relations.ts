/**
 * Who may write to whom, and read of whom. How two agents stand to each other is looked up by their parents; what follows
 * from it is the configuration's affair. A swarm's agent knows its contact and nobody else, whatever is configured.
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
/** What it takes to find out for whom an agent works. */
export type OwnerReader = Pick<StoreReader, "agent" | "agentByKey" | "job">;

const MAX_DEPTH = 64;

/** The agent at the top: whoever started whoever started this one. Itself where nobody did, or where that one is gone. */
export async function rootOf(store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<AgentRecord> {
  let at = agent;
  for (let depth = 0; at.descriptor.type === "subagent" && depth < MAX_DEPTH; depth++) {
    const parent = await store.agent(at.descriptor.parentAgentId as AgentId);
    if (!parent) return at;
    at = parent;
  }
  return at;
}

/** Whether an agent works for the owner: its tree begins in one of the owner's own conversations. */
export async function isOwners(
  store: Pick<StoreReader, "agent">,
  { accounts }: Config["owner"],
  agent: AgentRecord,
): Promise<boolean> {
  const { descriptor } = await rootOf(store, agent);
  return descriptor.type === "user" && (descriptor.peerKind ?? "dm") === "dm" && isOwner(descriptor, accounts);
}

/**
 * Whether an agent works for whoever runs this installation: its tree begins with the owner's own conversation, or with
 * something the installation itself has started. Another person's agent does not, nor does one that serves a swarm's contact.
 * A job's agent works for whoever made the job; where that conversation is gone, nobody can say that it was the owner's.
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

/** How another agent stands to this one. One may hold without the others; the dearest to find comes last. */
async function stands(
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

async function oneHolds(
  store: Reader,
  owner: Config["owner"],
  from: AgentRecord,
  to: Target,
  allowed: readonly Relation[],
): Promise<boolean> {
  for (const relation of allowed) if (await stands(store, owner, from, to, relation)) return true;
  return false;
}

export const WRITE_DENIED = "Agent-to-agent messaging denied by agentToAgent.write.";
export const READ_DENIED = "Session not visible from this agent: agentToAgent.read does not allow it.";

/** Throws `DeniedError` where `from` may not write to `to`. */
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
  if (!(await oneHolds(store, config.owner, from, to, config.agentToAgent.write))) throw new DeniedError(WRITE_DENIED);
}

/** Whether `from` may list and read `of`. The owner's agents may read everything; a swarm's, itself only. */
export async function mayRead(
  store: Reader,
  config: Pick<Config, "agentToAgent" | "owner">,
  from: AgentRecord,
  of: AgentRecord,
): Promise<boolean> {
  if (from.id === of.id) return true;
  if (from.descriptor.type === "swarm") return false;
  if (await isOwners(store, config.owner, from)) return true;
  return oneHolds(store, config.owner, from, { agent: of }, config.agentToAgent.read);
}
