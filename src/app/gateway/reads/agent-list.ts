/** Agents as lists show them, in the order of their creation. Reads one page. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentId } from "../../../core/ids.ts";
import { type List, listOf } from "../../../core/list.ts";
import { type NameReader, nameOfAgent, namesInList } from "../../../core/store/agent-names.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import type { AgentSummary } from "../schemas/agent.ts";

/** An agent as lists show it, with its name among them. */
function summaryOf(agent: AgentRecord, name: string): AgentSummary {
  const { id, sessionKey, profile, descriptor, sessionId, waiting, runId, lastHumanAt, createdAt, stopped, node } =
    agent;
  return {
    id,
    name,
    sessionKey,
    kind: descriptor.type,
    profile,
    descriptor,
    sessionId,
    waiting,
    runId: runId ?? null,
    lastHumanAt: lastHumanAt ?? null,
    updatedAt: agent.state.updatedAt,
    createdAt,
    stopped: stopped ?? null,
    node: node ?? null,
  };
}

export const agentSummary = async (store: NameReader, agent: AgentRecord): Promise<AgentSummary> =>
  summaryOf(agent, await nameOfAgent(store, agent));

export async function agentSummaries(
  store: NameReader,
  agents: readonly AgentRecord[],
): Promise<readonly AgentSummary[]> {
  const names = await namesInList(store, agents);
  return agents.map((agent, at) => summaryOf(agent, names[at] ?? ""));
}

interface AgentPage {
  readonly after?: AgentId;
  readonly limit: number;
}

/** The page is cut before it is filtered, so that `next` reaches every agent. */
export async function listAgents(
  store: NameReader & Pick<StoreReader, "agents">,
  { after, limit }: AgentPage,
  sees: (agent: AgentRecord) => boolean = () => true,
): Promise<List<AgentSummary, AgentId>> {
  const agents = await store.agents({ limit, after });
  const next = agents.length === limit ? (agents.at(-1)?.id ?? null) : null;
  return listOf(await agentSummaries(store, agents.filter(sees)), next);
}
