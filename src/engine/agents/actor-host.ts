/** What an actor gets from its node. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { Emit } from "../engine-event.ts";
import type { QueuePolicy } from "../inbox/queue-settings.ts";
import type { Lanes } from "../runs/lanes.ts";
import type { RunPorts } from "../runtime/run-ports.ts";

export interface ActorHost {
  readonly ports: RunPorts;
  readonly lanes: Lanes;
  readonly node: number;
  readonly restore: "resume" | "discard";
  /** Whether the agents that are claimed now were left by an earlier process. */
  restoring(): boolean;
  readonly startedAt: number;
  /** Whether the session ends by itself before the next message (M10). */
  isStale(agent: AgentRecord, lastInteractionAt: number, now: number): boolean;
  readonly queue: QueuePolicy;
  /** Serialises the resumption of runs that were already resumed once without progress (M13). */
  readonly recoveryQueue: { enter(): Promise<() => void> };
  /** Whether runs are suspended at their next step and nothing new begins. */
  draining(): boolean;
  readonly emit: Emit;
}
