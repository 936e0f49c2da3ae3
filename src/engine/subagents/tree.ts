/** Which agent started which: an agent's ancestors, its descendants, and the stop that holds for it. Changes nothing. */
import type { AgentRecord, StopMark } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";

type TreeReader = Pick<StoreReader, "agent" | "children">;

/** Deeper than any configuration allows; ends the walk if damaged data contains a cycle. */
const MAX_DEPTH = 64;
const PAGE = 200;

const parentIdOf = ({ descriptor }: Pick<AgentRecord, "descriptor">): AgentId | undefined =>
  descriptor.type === "subagent" ? (descriptor.parentAgentId as AgentId) : undefined;

/** An agent's parent, its parent's parent and so on, nearest first. Includes removed agents. */
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

/** How many spawns lie between an agent and the root of its tree: 0 for an agent that no agent started. */
export const depthOf = async (store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<number> =>
  agent.descriptor.type === "subagent" ? Math.max(1, (await ancestorsOf(store, agent)).length) : 0;

export interface Stop {
  /** The agent with the mark: the agent itself, or its nearest stopped ancestor. */
  readonly agentId: AgentId;
  readonly mark: StopMark;
}

/** The stop that holds for an agent: its own or an ancestor's (M20). */
export async function stopOf(store: Pick<StoreReader, "agent">, agent: AgentRecord): Promise<Stop | undefined> {
  for (const one of [agent, ...(agent.stopped ? [] : await ancestorsOf(store, agent))]) {
    if (one.stopped) return { agentId: one.id, mark: one.stopped };
  }
  return undefined;
}

/** All descendants of an agent, parents before their children. */
export async function* descendantsOf(store: TreeReader, agentId: AgentId, depth = 0): AsyncGenerator<AgentRecord> {
  if (depth >= MAX_DEPTH) return;
  for (let after: AgentId | undefined; ; ) {
    const page = await store.children(agentId, { limit: PAGE, after });
    for (const child of page) {
      yield child;
      yield* descendantsOf(store, child.id, depth + 1);
    }
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}
