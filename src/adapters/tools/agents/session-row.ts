/** One agent in a list for other agents: identity, status, waiting messages, usage. Contains no text of its messages. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentKind } from "../../../core/agent/descriptor.ts";
import { labelOf } from "../../../core/agent/label-of.ts";

interface SessionRow {
  readonly key: string;
  readonly agentId: string;
  readonly kind: AgentKind;
  readonly label: string;
  readonly profile: string;
  readonly sessionId: string;
  readonly status: "running" | "waiting" | "resting" | "stopped";
  readonly waiting: number;
  readonly updatedAt: number;
  readonly lastHumanAt?: number;
  readonly parentAgentId?: string;
  readonly channel?: string;
  readonly model?: string;
  readonly totalTokens: number;
}

export function sessionRow(agent: AgentRecord): SessionRow {
  const { id, sessionKey, descriptor, profile, sessionId, state, waiting, lastHumanAt, createdAt } = agent;
  const channel = state.deliveryContext?.channel ?? (descriptor.type === "user" ? descriptor.connector : undefined);
  return {
    key: sessionKey,
    agentId: id,
    kind: descriptor.type,
    label: state.label ?? labelOf(descriptor),
    profile,
    sessionId,
    status: statusOf(agent),
    waiting,
    updatedAt: Math.max(state.updatedAt, lastHumanAt ?? 0, createdAt),
    lastHumanAt,
    parentAgentId: descriptor.type === "subagent" ? descriptor.parentAgentId : undefined,
    channel,
    model: state.tokens ? `${state.tokens.provider}/${state.tokens.model}` : undefined,
    totalTokens: totalTokens(agent),
  };
}

function statusOf({ runId, waiting, stopped }: AgentRecord): SessionRow["status"] {
  if (stopped) return "stopped";
  if (runId !== undefined) return "running";
  return waiting > 0 ? "waiting" : "resting";
}

/** What providers reported over the agent's life. */
const totalTokens = ({ state }: AgentRecord): number =>
  Object.values(state.stats)
    .flatMap((models) => Object.values(models))
    .reduce((sum, { total }) => sum + total, 0);
