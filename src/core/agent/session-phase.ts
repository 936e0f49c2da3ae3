/** The phase of a session, for people: new, active, or stale (the next message begins a new one). */
import type { AgentRecord } from "./agent.ts";
import { type ResetConfig, resetPolicyFor, staleBy } from "./session-freshness.ts";

/** A reset has no phase: after it the session is new. */
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
