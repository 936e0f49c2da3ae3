/**
 * The contract of a connector, the adaptor to one channel. A connector acknowledges to its channel only after `accept`
 * has resolved, and hands on ids that never change (never display names).
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
  /** Longer texts are split before they are owed, each part a delivery of its own. Absent: no limit. */
  readonly maxTextLength?: number;
  /** What the model is told about how to write for this channel. */
  readonly formatPrompt?: string;
}

/** A command the connector recognised (the engine never reads slash commands out of text). */
export type IncomingCommand = Omit<IncomingMessage, "text" | "files"> & {
  readonly command:
    | { readonly name: "reset"; readonly text?: string }
    | { readonly name: "stop" }
    | { readonly name: "compact"; readonly instructions?: string }
    /** What the agent has started: `text` says what is wanted of it. */
    | { readonly name: "subagents"; readonly text: string }
    /** How to treat what arrives while the agent is busy; `null`: back to the default. */
    | { readonly name: "queue"; readonly settings: Partial<QueueSettings> | null }
    /** Whether the agent may send at all; `null`: what the rules say. Only the owner may say so. */
    | { readonly name: "send"; readonly policy: SendDecision | null };
};

/** What accepting says. `stale`: older than the channel's replay horizon, refused with a trace (M5). */
export type Accepted =
  | { readonly status: "accepted" | "duplicate"; readonly agentId: AgentId; readonly messageId: MessageId }
  | { readonly status: "stale" };

/** What a connector may call. Both calls are durable when they resolve; a rejection means: not accepted, do not acknowledge. */
export interface ConnectorHost {
  accept(message: IncomingMessage): Promise<Accepted>;
  command(command: IncomingCommand): Promise<Accepted>;
  /** The words that begin a new session here. */
  readonly resetTriggers?: readonly string[];
}

export interface OutgoingDelivery {
  /** Stable over retries: what an idempotent channel takes as its key. */
  readonly id: DeliveryId;
  readonly target: DeliveryContext;
  readonly payload: Payload;
}

/**
 * How one send ended. `sent`: the channel has it. `refused`: it never will (bad recipient, blocked). `retry`: it certainly
 * does not have it, try again. `unknown`: it may have it (a timeout after sending).
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
  /** Must run on one node at a time: a bot that polls, an account that may be connected once. */
  readonly once?: boolean;
  start(host: ConnectorHost): Promise<void>;
  /** Stops taking messages in; sends in flight may finish. */
  stop(): Promise<void>;
  health(): ConnectorHealth;
  /** Must not throw: every failure is one of the results. */
  send(delivery: OutgoingDelivery, signal: AbortSignal): Promise<SendResult>;
  /** Reconcilable channels only: did this delivery arrive? */
  lookup?(delivery: OutgoingDelivery): Promise<"arrived" | "absent" | "unknown">;
}

export const DEFAULT_REPLAY_HORIZON_MS = 30 * 24 * 60 * 60 * 1000;
