/** Who started whom: up to the agent a tree began with, and down to everything that came of it. Reads, changes nothing. */
import type { AgentRecord, StopMark } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

type TreeReader = Pick<StoreReader, "agent" | "children">;

/** Deeper than any configuration allows; ends the walk where data was damaged into a circle. */
const MAX_DEPTH = 64;
const PAGE = 200;

export const parentIdOf = ({ descriptor }: Pick<AgentRecord, "descriptor">): AgentId | undefined =>
  descriptor.type === "subagent" ? (descriptor.parentAgentId as AgentId) : undefined;

/** An agent's parent, its parent's parent and so on, nearest first. Those that were removed are still on the way. */
export async function ancestorsOf(store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<AgentRecord[]> {
  const found: AgentRecord[] = [];
  for (let id = parentIdOf(agent); id !== undefined && found.length < MAX_DEPTH; ) {
    const parent = await store.agent(id);
    if (!parent) break;
    found.push(parent);
    id = parentIdOf(parent);
  }
  return found;
}

/** How many spawns lie between an agent and the one its tree began with: 0 for an agent nobody started. */
export const depthOf = async (store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<number> =>
  agent.descriptor.type === "subagent" ? Math.max(1, (await ancestorsOf(store, agent)).length) : 0;

export interface Stop {
  /** The agent that bears the mark: the one asked about, or the nearest stopped one above it. */
  readonly agentId: AgentId;
  readonly mark: StopMark;
}

/** The stop an agent is under, its own or an ancestor's (M20). */
export async function stopOf(store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<Stop | undefined> {
  for (const one of [agent, ...(agent.stopped ? [] : await ancestorsOf(store, agent))]) {
    if (one.stopped) return { agentId: one.id, mark: one.stopped };
  }
  return undefined;
}

/** Everything an agent has started, and what they have started, parents before their children. */
export async function* descendantsOf(store: TreeReader, agentId: AgentId, depth = 0): AsyncGenerator<AgentRecord> {
  if (depth >= MAX_DEPTH) return;
  for (let after: AgentId | undefined; ; ) {
    const page = await store.children(agentId, { limit: PAGE, ...(after ? { after } : {}) });
    for (const child of page) {
      yield child;
      yield* descendantsOf(store, child.id, depth + 1);
    }
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}
