/** What waits at an agent, as people see it. */
import type { AgentId, RunId } from "../ids.ts";
import type { UnansweredMessage } from "../message/unanswered-message.ts";

/** Of a run in memory. */
export type RunState = "queued" | "active" | "streaming" | "compacting" | "suspended" | "ended";

/** The run of an agent, the messages that wait, and what the queue dropped. */
export interface WhatWaits {
  readonly agentId: AgentId;
  readonly run: { readonly id: RunId; readonly state: RunState } | undefined;
  readonly waiting: readonly {
    readonly seq: number;
    readonly kind: string;
    readonly text: string;
    readonly acceptedAt: number;
    readonly mode: string;
    /** What will happen to it in the current state. */
    readonly will: string;
  }[];
  /** The newest messages that the queue dropped, each with its policy. */
  readonly dropped: readonly { readonly seq: number; readonly policy: string; readonly text: string }[];
  /** The newest messages that failed, were stopped or were dropped, each with its reason and its run. */
  readonly unanswered: readonly UnansweredMessage[];
}
