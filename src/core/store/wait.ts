/**
 * A wait is an edge: one agent's run does not continue before another agent has answered. Edges are stored, so that a cycle is
 * detected across nodes and refused before it closes (M11).
 */
import type { AgentId, RunId } from "../ids.ts";

export interface WaitEdge {
  /** Chosen by the waiting run; the same after a restart, so that a resumed wait is the same edge. */
  readonly id: string;
  readonly from: AgentId;
  readonly to: AgentId;
  /** The run that waits. The edge counts only while it is open. */
  readonly runId: RunId;
  readonly since: number;
}
