/** What an agent at work asks of the node it works on. */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { QueueDedupeMode, QueueSettings } from "../../core/message/queue.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Lanes } from "../runs/lanes.ts";
import type { RunPorts } from "../runtime/run-ports.ts";

export interface ActorHost {
  readonly ports: RunPorts;
  readonly lanes: Lanes;
  readonly node: number;
  readonly restore: "resume" | "discard";
  /** Whether the agents that are claimed now are those an earlier process left. */
  restoring(): boolean;
  readonly startedAt: number;
  /** Whether a session in which a person was last answered then is to end by itself (M10). */
  isStale(agent: AgentRecord, lastInteractionAt: number, now: number): boolean;
  /** The settings that hold for a message now. */
  queueSettings(message: Message, state: AgentState): Required<QueueSettings>;
  readonly dedupe: QueueDedupeMode;
  /** Serialises the resumption of runs that were already resumed once without progress (M13). */
  readonly recoveryQueue: { enter(): Promise<() => void> };
  draining(): boolean;
  /** Something may have been committed that nobody here knows of: the outbox looks for itself. */
  rescan(): void;
  /** A run, or a message without one, has ended. */
  settled(messages: readonly { agentId: AgentId; seq: number }[], result: RunResult | undefined): void;
  /** Claims an agent that nobody holds, for work that no message asks for; it is then woken. */
  claim(agentId: AgentId): void;
  /** The agent cannot be restored; the others go on. */
  degraded(agentId: AgentId, reason: string): void;
}
