/** Where a session stands, for people: nothing said yet, going on, or over with the next message. */
import type { AgentRecord } from "./agent.ts";
import { type ResetConfig, resetPolicyFor, staleBy } from "./session-freshness.ts";

/** A reset is no state to rest in: it makes a session new. */
export type SessionPhase = "new" | "active" | "idle";

export function sessionPhaseOf(
  agent: Pick<AgentRecord, "descriptor" | "sessionKey" | "state" | "runId">,
  reset: ResetConfig,
  now: number,
  zone: string,
): SessionPhase {
  const { lastInteractionAt, systemSent } = agent.state;
  if (agent.runId !== undefined) return "active";
  if (lastInteractionAt === undefined && !systemSent) return "new";
  return staleBy(resetPolicyFor(agent, reset), lastInteractionAt, now, zone) ? "idle" : "active";
}
