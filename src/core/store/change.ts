/**
 * A change is data: everything one step changes, applied whole or not at all, and only if the node still owns the agent
 * (M1). `commit(change)` is the only way to write.
 */
import type { AgentSeed, StopMark } from "../agent/agent.ts";
import type { AgentDescriptor } from "../agent/descriptor.ts";
import type { AgentState } from "../agent/state.ts";
import type { SubagentRunRecord } from "../agent/subagent-run.ts";
import type { SwarmRecord } from "../agent/swarm.ts";
import type { LimitedRow, Spend } from "../budget/budget.ts";
import type { BudgetDecision, CallCost } from "../budget/budget-decision.ts";
import type { DeliveryState, NewDelivery } from "../delivery/delivery.ts";
import type { AgentId, ChangeId, DeliveryId, EntryId, RunId, SessionId, SessionKey } from "../ids.ts";
import type { MessageState, NewMessage } from "../message/message.ts";
import type { AbortMark, RunBody, RunOutcome } from "../run/run.ts";
import type { CronJob } from "../schedule/job.ts";
import type { JobRunEnd, JobSlot, SlotDelivered } from "../schedule/job-slot.ts";

export interface Change {
  /** Stored with the change, so that a commit whose answer was lost can be looked up (M2). */
  readonly id: ChangeId;
  /** The place in the program that makes this change: for logs, and for the simulation to crash around. */
  readonly site: string;
  readonly at: number;
  /** The agent this change belongs to. Ops marked "owner" act on it and need it. */
  readonly owner?: Owner;
  readonly ops: readonly Op[];
}

/** What the owner claims to hold. Any part that is no longer true refuses the whole change. */
export interface Owner {
  readonly agentId: AgentId;
  readonly node: number;
  readonly epoch: number;
  /** Refused after a later marker (M10). */
  readonly sessionId?: SessionId;
  /** The run must be open, at this step, and bear no abort mark unless `evenAborted` (M9). */
  readonly run?: { readonly id: RunId; readonly step: number; readonly evenAborted?: boolean };
}

/** Where a message goes: an agent that exists, or the agent of a session key, made if there is none. */
export type Recipient =
  | { readonly agentId: AgentId }
  | { readonly sessionKey: SessionKey; readonly create?: AgentSeed };

/** Recognises a message that was accepted before (M5). */
export interface Dedupe {
  readonly key: string;
  /** Kept until then, and as long as the message is unsettled. */
  readonly keepUntil: number;
}

export type Op =
  // Anybody may do these, for any agent.
  /** `fresh`: refused where the session key is taken; otherwise the agent that has it is the answer. */
  | { readonly op: "agent.create"; readonly seed: AgentSeed; readonly fresh?: boolean }
  | {
      readonly op: "message.post";
      readonly to: Recipient;
      readonly message: NewMessage;
      readonly dedupe?: Dedupe;
      /** Claim the recipient for this node if nobody holds it, in the same commit. */
      readonly claimFor?: number;
    }
  | { readonly op: "run.abort"; readonly runId: RunId; readonly mark: AbortMark }
  /** An agent's run waits for another agent. Refused where that closes a circle of open runs (M11); again is the same. */
  | {
      readonly op: "wait.begin";
      readonly id: string;
      readonly from: AgentId;
      readonly to: Recipient;
      readonly runId: RunId;
    }
  | { readonly op: "wait.end"; readonly id: string }
  /** `ifSeq`: refused unless the mark in place is the one of that sequence, so that a later stop is never taken back. */
  | { readonly op: "agent.stop"; readonly agentId: AgentId; readonly mark: StopMark | null; readonly ifSeq?: number }
  /** Removes an agent that rests, for ever; refused while something waits or runs. What it owes outside is still sent. */
  | {
      readonly op: "agent.remove";
      readonly agentId: AgentId;
      readonly reason: string;
      /** Its history, messages and runs stay for whoever looks. */
      readonly keep?: boolean;
    }
  // Ownership.
  /** `was`: the number this same process had before it lost its lease. It was away and has not died (M13). */
  | { readonly op: "node.join"; readonly name: string; readonly leaseUntil: number; readonly was?: number }
  | { readonly op: "node.renew"; readonly node: number; readonly leaseUntil: number }
  | { readonly op: "node.leave"; readonly node: number }
  | { readonly op: "agent.claim"; readonly agentId: AgentId; readonly node: number }
  /**
   * Claims up to `limit` agents that have work and no living owner. `own`: names also those the node holds already, for
   * a node that may have claimed without learning of it. `after` goes on where an earlier portion ended.
   */
  | {
      readonly op: "agents.claim";
      readonly node: number;
      readonly limit: number;
      readonly own?: boolean;
      readonly after?: AgentId;
    }
  // Owner only.
  /** Gives the agent back if nothing waits and no run is open; compares counters in the releasing statement (M3). */
  | { readonly op: "agent.release" }
  | {
      readonly op: "message.take";
      readonly runId: RunId;
      readonly seqs: readonly number[];
      /** Refused where a reset waits that came after this one: it goes first, and these run in the new session (M10). */
      readonly unlessResetAfter?: number;
    }
  | { readonly op: "message.settle"; readonly settlements: readonly Settlement[] }
  | {
      readonly op: "entries.append";
      /** The position of the first line; must be the agent's next one. */
      readonly position: number;
      readonly lines: readonly string[];
      readonly leaf: EntryId;
    }
  /** Another description, prompt or workspace of a permanent agent; no other kind is ever described anew. */
  | { readonly op: "agent.describe"; readonly descriptor: AgentDescriptor }
  /** Moves the tip to an entry that is already there. */
  | { readonly op: "leaf.move"; readonly leaf: EntryId }
  | { readonly op: "session.begin"; readonly sessionId: SessionId }
  | { readonly op: "state.put"; readonly state: AgentState }
  | { readonly op: "run.open"; readonly runId: RunId; readonly body: RunBody }
  /** A committed step: counts the step up and, where `attempt` is absent, starts the attempts anew (M13). */
  | { readonly op: "run.step"; readonly runId: RunId; readonly body: RunBody; readonly attempt?: number }
  | { readonly op: "run.end"; readonly runId: RunId; readonly body: RunBody; readonly outcome: RunOutcome }
  | { readonly op: "delivery.add"; readonly delivery: NewDelivery }
  /**
   * Reserves what a model call may cost on every row, or says what stands in the way; decided inside the transaction (M21).
   * The same id again is the same reservation.
   */
  | {
      readonly op: "budget.reserve";
      readonly id: string;
      readonly runId: RunId;
      readonly call: CallCost;
      readonly rows: readonly LimitedRow[];
    }
  /** This agent's people were told that the budget is used up. */
  | { readonly op: "budget.told"; readonly key: string }
  // Guarded by what they change, not by an agent's owner.
  | {
      readonly op: "delivery.move";
      readonly id: DeliveryId;
      /** Refused unless the delivery is in this state with this many attempts. */
      readonly from: DeliveryState;
      readonly attempts: number;
      readonly to: DeliveryState;
      readonly nextAt?: number;
      readonly reason?: string;
      readonly receipt?: string;
      /** Who is sending it; while that node lives, nobody else takes it up. */
      readonly node?: number;
      /** Owes it anew from now on, behind all others (a person's retry, M17). */
      readonly toTail?: boolean;
    }
  /** The result replaces the reservation; `unknown` charges what was reserved. Nothing where it was settled before. */
  | {
      readonly op: "budget.settle";
      readonly id: string;
      readonly actual: Spend | "unknown";
      readonly estimated?: boolean;
    }
  /** Charges what a run has reserved and will never learn the result of. */
  | { readonly op: "budget.forfeit"; readonly runId: RunId }
  /** A person allows more; whoever was told is told again when that is used up too. */
  | { readonly op: "budget.lift"; readonly key: string; readonly more: Spend }
  /** Charges reservations and removes rows of past days that are older. Rows of agents and trees stay. */
  | { readonly op: "budget.sweep"; readonly reservedBefore: number; readonly rowsBefore: number }
  /** `expect`: refused unless the record is there and has not ended, or has. */
  | { readonly op: "subagent.put"; readonly record: SubagentRunRecord; readonly expect?: "open" | "ended" }
  /** Writes a job with the next version. `expect`: refused unless this is the version it has; 0 where there is none. */
  | { readonly op: "job.put"; readonly job: CronJob; readonly expect?: number }
  | { readonly op: "job.remove"; readonly id: string; readonly expect?: number }
  /** What became of a due time; refused where the slot has its row already (L9). */
  | { readonly op: "job.slot"; readonly slot: JobSlot }
  /** How a delivery that belongs to a slot ended. */
  | { readonly op: "job.delivered"; readonly jobId: string; readonly slot: string; readonly told: SlotDelivered }
  /** The end of a slot's run. Written to the slot's row and to the job, if they still exist. Never refused. */
  | { readonly op: "job.ran"; readonly jobId: string; readonly slot: string; readonly end: JobRunEnd }
  | { readonly op: "subagent.remove"; readonly runId: string }
  /** `fresh`: refused where the name is taken. */
  | { readonly op: "swarm.put"; readonly swarm: SwarmRecord; readonly fresh?: boolean }
  | { readonly op: "swarm.remove"; readonly nametag: string }
  /** Counts messages between a swarm and a contact; the first makes the contact known. `known`: refused where it is not. */
  | {
      readonly op: "swarm.contact";
      readonly nametag: string;
      readonly contact: AgentId;
      readonly agentId?: AgentId;
      readonly sent?: number;
      readonly received?: number;
      readonly known?: boolean;
    }
  /**
   * A small durable fact: a connector's offset, a counter. `null` removes it. `expect`: refused unless the fact is this one;
   * `null` where there must be none.
   */
  | {
      readonly op: "fact.put";
      readonly key: string;
      readonly value: string | null;
      readonly expect?: string | null;
    }
  /** Removes one bounded portion of what has outlived its limit; history is never pruned. */
  | {
      readonly op: "prune";
      readonly what: Prunable;
      readonly before: number;
      readonly limit: number;
      readonly after?: string;
    };

export type Prunable = "messages" | "deliveries" | "dedupe" | "runs" | "changes" | "slots";

export interface Settlement {
  readonly seq: number;
  /** The state it leaves; another state refuses the change. */
  readonly from: "waiting" | "taken";
  readonly state: Exclude<MessageState, "waiting" | "taken">;
  readonly runId?: RunId;
  readonly reason?: string;
}

/** What an op has to say beside "done". Ops not named here say nothing. */
export type OpResult =
  | { readonly op: "agent.create"; readonly agentId: AgentId; readonly created: boolean }
  | ({ readonly op: "message.post" } & Posted)
  | { readonly op: "run.abort"; readonly marked: boolean }
  | { readonly op: "node.join"; readonly node: number }
  | { readonly op: "agent.claim"; readonly epoch: number | undefined }
  | { readonly op: "agents.claim"; readonly claims: readonly { readonly agentId: AgentId; readonly epoch: number }[] }
  | { readonly op: "agent.release"; readonly released: boolean }
  /** Said only where nothing else is owed to its target: it is the next to be sent there. */
  | { readonly op: "delivery.add"; readonly next: DeliveryId }
  /** `told`: whether this agent's people know already, where the budget is reached. */
  | { readonly op: "budget.reserve"; readonly decision: BudgetDecision; readonly told: boolean }
  | { readonly op: "budget.forfeit"; readonly charged: number }
  | { readonly op: "budget.sweep"; readonly charged: number; readonly removed: number }
  | { readonly op: "prune"; readonly removed: number; readonly next: string | undefined };

export interface Posted {
  readonly agentId: AgentId;
  /** The sequence given now, or the one the same message got before. */
  readonly seq: number;
  readonly duplicate: boolean;
  /** Whether this message made the agent. */
  readonly created: boolean;
  /** Who holds the recipient after this commit, if anybody does. */
  readonly holder?: { readonly node: number; readonly epoch: number };
  /** Nothing else waits there. Absent: something may. */
  readonly alone?: true;
}

/** Why a change was not applied. Expected, so returned and not thrown. */
export type Refusal =
  /** Another node, or a later claim, holds the agent. */
  | "fenced"
  /** A marker came after the session this change belongs to. */
  | "session"
  /** The run bears an abort mark. */
  | "aborted"
  /** The run has ended or is at another step. */
  | "run"
  /** The agent or one of its ancestors was stopped (M20). */
  | "stopped"
  /** There is no such agent, run or delivery. */
  | "missing"
  /** Agents would wait for each other in a circle (M11). */
  | "cycle"
  /** Something else changed in between: a delivery's state, a position. */
  | "conflict";

export type CommitResult =
  | { readonly ok: true; readonly results: readonly (OpResult | undefined)[] }
  | { readonly ok: false; readonly refused: Refusal; readonly detail: string };
