/**
 * The contract of a connector, the adaptor to one channel. A connector acknowledges to its channel only after `accept`
 * has resolved, and submits ids that never change (never display names).
 */

import type { SendDecision } from "../agent/send-policy.ts";
import type { DeliveryContext, Payload, SendingClass } from "../delivery/delivery.ts";
import type { AgentId, DeliveryId, MessageId } from "../ids.ts";
import type { IncomingMessage } from "../message/incoming-message.ts";
import type { QueueSettings } from "../message/queue.ts";

export interface ConnectorCapabilities {
  readonly sendText: boolean;
  readonly sendFiles?: { readonly modes: readonly ("document" | "photo" | "video" | "voice")[] };
  readonly reactions?: boolean;
  readonly typing?: boolean;
  readonly edits?: boolean;
  /** A longer text is split, and each part is a separate delivery. Absent: no limit. */
  readonly maxTextLength?: number;
  /** Instructions to the model on how to write for this channel. */
  readonly formatPrompt?: string;
}

/** A command that the connector recognised (the engine never reads slash commands from text). */
export type IncomingCommand = Omit<IncomingMessage, "text" | "files"> & {
  readonly command:
    | { readonly name: "reset"; readonly text?: string }
    | { readonly name: "stop" }
    | { readonly name: "compact"; readonly instructions?: string }
    /** About the agent's children: `text` is the command. */
    | { readonly name: "subagents"; readonly text: string }
    /** Queue settings; `null`: back to the default. */
    | { readonly name: "queue"; readonly settings: Partial<QueueSettings> | null }
    /** Whether the agent may send; `null`: by the rules. Only the owner may change this. */
    | { readonly name: "send"; readonly policy: SendDecision | null }
    /** Any other command of the table, by its name; `message` is one that follows it. */
    | {
        readonly name: "chat";
        readonly command: string;
        readonly text: string;
        readonly inTurn?: true;
        readonly message?: string;
      };
};

/** The result of accepting. `stale`: older than the channel's replay horizon, refused with a trace (M5). */
export type Accepted =
  | { readonly status: "accepted" | "duplicate"; readonly agentId: AgentId; readonly messageId: MessageId }
  | { readonly status: "stale" };

/** What a connector may call. Both calls are durable when they resolve. After a rejection the connector must not acknowledge. */
export interface ConnectorHost {
  accept(message: IncomingMessage): Promise<Accepted>;
  command(command: IncomingCommand): Promise<Accepted>;
  /** Words that begin a new session. */
  readonly resetTriggers?: readonly string[];
  /** Whether commands are read from texts of this connector. Absent: they are. */
  readonly commands?: boolean;
  /** The longest message that is accepted. A connector need not read more of one. */
  readonly maxCharacters?: number;
}

export interface OutgoingDelivery {
  /** The same for all retries: the key of an idempotent channel. */
  readonly id: DeliveryId;
  readonly target: DeliveryContext;
  readonly payload: Payload;
}

/**
 * How one send ended. `sent`: the channel has it. `refused`: it will never accept it (bad recipient, blocked). `retry`: it does
 * not have it, try again. `unknown`: it may have it (a timeout after sending).
 */
export type SendResult =
  | { readonly status: "sent"; readonly receipt?: string }
  | { readonly status: "refused"; readonly reason: string }
  | { readonly status: "retry"; readonly reason: string; readonly afterMs?: number }
  | { readonly status: "unknown"; readonly reason: string };

export interface ConnectorHealth {
  readonly ok: boolean;
  readonly detail: string;
}

export interface Connector {
  readonly name: string;
  readonly capabilities: ConnectorCapabilities;
  readonly sendingClass: SendingClass;
  /** How long the channel may redeliver a message; dedupe keys are kept that long. Default 30 days. */
  readonly replayHorizonMs?: number;
  /** True while it runs on another node and can send nothing here. */
  isRemote?(): boolean;
  /**
   * The address of this connector that gets a delivery to another channel's address; undefined for those it leaves alone.
   * `profile`: of the agent that says it.
   */
  takesOver?(target: DeliveryContext, profile: string | undefined): DeliveryContext | undefined;
  /** Must run on one node at a time: a bot that polls, an account that may be connected once. */
  readonly once?: boolean;
  start(host: ConnectorHost): Promise<void>;
  /** Stops accepting messages; sends in flight may finish. */
  stop(): Promise<void>;
  health(): ConnectorHealth;
  /** Must not throw: every failure is one of the results. */
  send(delivery: OutgoingDelivery, signal: AbortSignal): Promise<SendResult>;
  /** Reconcilable channels only: did this delivery arrive? */
  lookup?(delivery: OutgoingDelivery): Promise<"arrived" | "absent" | "unknown">;
}

export const DEFAULT_REPLAY_HORIZON_MS = 30 * 24 * 60 * 60 * 1000;
