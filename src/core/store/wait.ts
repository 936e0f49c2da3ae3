/**
 * A wait is an edge: one agent's run does not go on before another agent has answered. Edges are stored, so that a circle is
 * seen whichever nodes the agents are on, and refused before it closes (M11).
 */
import type { AgentId, RunId } from "../ids.ts";

export interface WaitEdge {
  /** The waiter's own name for it: the same after a restart, so that a wait taken up again is the same one. */
  readonly id: string;
  readonly from: AgentId;
  readonly to: AgentId;
  /** The run that waits. The edge counts only while it is open. */
  readonly runId: RunId;
  readonly since: number;
}
