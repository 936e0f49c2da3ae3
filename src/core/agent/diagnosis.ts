/** The work that is under way or stuck, in one bounded answer: which agent, since when and why. Contains no text of messages. */

import type { WaitingState } from "../delivery/delivery.ts";
import type { AgentId, RunId } from "../ids.ts";
import type { FailedTries } from "../message/message.ts";
import type { AgentKind } from "./descriptor.ts";

export interface Diagnosis {
  readonly at: number;
  /** Agents with work, the oldest first. */
  readonly busy: readonly BusyAgent[];
  /** Whether there are more of them than are listed. */
  readonly more: boolean;
  /** The size of each lane on this node, its active runs and its waiting runs. */
  readonly lanes: Readonly<
    Record<string, { readonly size: number; readonly active: number; readonly waiting: number }>
  >;
  readonly waits: readonly {
    readonly from: AgentId;
    readonly to: AgentId;
    readonly fromName?: string;
    readonly toName?: string;
    readonly sinceMs: number;
  }[];
  readonly deadLetters: readonly {
    readonly id: string;
    readonly agentId: AgentId;
    readonly agentName?: string;
    readonly state: string;
    readonly reason?: string;
    readonly channel?: string;
    readonly attempts: number;
  }[];
  /** How many deliveries wait for a reader and for a route. */
  readonly waitingDeliveries: Readonly<Record<WaitingState, number>>;
  /** Agents that could not be restored on this node. */
  readonly degraded: readonly {
    readonly agentId: AgentId;
    readonly agentName?: string;
    readonly reason: string;
  }[];
  /** Waiting messages whose handling keeps failing. */
  readonly failing: readonly FailingMessage[];
  readonly failedJobs: readonly { readonly id: string; readonly name: string; readonly error?: string }[];
}

export interface FailingMessage extends FailedTries {
  readonly agentId: AgentId;
  readonly sessionKey: string;
  readonly agentName: string;
  readonly seq: number;
  readonly kind: string;
}

export interface BusyAgent {
  readonly agentId: AgentId;
  readonly sessionKey: string;
  readonly name: string;
  readonly kind: AgentKind;
  readonly held: boolean;
  readonly stopped?: string;
  readonly run?: {
    readonly id: RunId;
    readonly forMs: number;
    readonly attempt: number;
    readonly iterations: number;
    readonly calls: readonly string[];
    readonly abort?: string;
    /** It was open when the program stopped, twice or more, and waits for its trial (M13). */
    readonly waitsForTrial: boolean;
  };
  readonly waiting: number;
  /** The first waiting messages, with what will happen to each. */
  readonly next: readonly { readonly kind: string; readonly forMs: number; readonly will: string }[];
}
