/** Agents as lists show them, in the order of their creation. Reads one page. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { labelOf } from "../../../core/agent/label-of.ts";
import type { AgentId } from "../../../core/ids.ts";
import { type List, listOf } from "../../../core/list.ts";
import type { StoreReader } from "../../../core/store/store.ts";

/** An agent as lists show it. */
export function agentSummary(agent: AgentRecord) {
  const { id, sessionKey, profile, descriptor, sessionId, waiting, runId, lastHumanAt, createdAt, stopped, node } =
    agent;
  const { label, displayName, updatedAt } = agent.state;
  return {
    id,
    sessionKey,
    kind: descriptor.type,
    label: label ?? displayName ?? labelOf(descriptor),
    profile,
    descriptor,
    sessionId,
    waiting,
    runId: runId ?? null,
    lastHumanAt: lastHumanAt ?? null,
    updatedAt,
    createdAt,
    stopped: stopped ?? null,
    node: node ?? null,
  };
}

interface AgentPage {
  readonly after?: AgentId;
  readonly limit: number;
}

/** The page is cut before it is filtered, so that `next` reaches every agent. */
export async function listAgents(
  store: Pick<StoreReader, "agents">,
  { after, limit }: AgentPage,
  sees: (agent: AgentRecord) => boolean = () => true,
): Promise<List<ReturnType<typeof agentSummary>, AgentId>> {
  const agents = await store.agents({ limit, after });
  const next = agents.length === limit ? (agents.at(-1)?.id ?? null) : null;
  return listOf(agents.filter(sees).map(agentSummary), next);
}
