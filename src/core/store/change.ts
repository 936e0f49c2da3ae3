/**
 * A change is data: everything one step writes. It is applied as a whole or not at all, and only if the node still owns the
 * agent (M1). `commit(change)` is the only way to write.
 */
import type { AgentSeed, StopMark } from "../agent/agent.ts";
import type { AgentDescriptor } from "../agent/descriptor.ts";
import type { AgentState } from "../agent/state.ts";
import type { SubagentRunRecord } from "../agent/subagent-run.ts";
import type { SwarmRecord } from "../agent/swarm.ts";
import type { LimitedRow, Spend } from "../budget/budget.ts";
import type { BudgetDecision, CallCost } from "../budget/budget-decision.ts";
import type { DeliveryContext, DeliveryState, NewDelivery, Payload } from "../delivery/delivery.ts";
import type { AgentId, ChangeId, DeliveryId, EntryId, RunId, SessionId, SessionKey } from "../ids.ts";
import type { MessageState, NewMessage, TriedMessage } from "../message/message.ts";
import type { StoredFile } from "../message/stored-file.ts";
import type { AuditEntry } from "../people/audit.ts";
import type { PersonRecord } from "../people/person-record.ts";
import type { ApprovalId, ApprovalState, NewApproval } from "../rights/approval.ts";
import type { AbortMark, RunBody, RunOutcome } from "../run/run.ts";
import type { CronJob } from "../schedule/job.ts";
import type { JobRunEnd, JobSlot, SlotDelivered } from "../schedule/job-slot.ts";
import type { KeyedEntry, RequestEntry } from "./request.ts";

export interface Change {
  /** Stored with the change, so that a commit whose answer was lost can be looked up (M2). */
  readonly id: ChangeId;
  /** The place in the program that makes this change, for logs and for crashes in the simulation. */
  readonly site: string;
  readonly at: number;
  /** The agent this change belongs to. Ops marked "owner" act on it and need it. */
  readonly owner?: Owner;
  readonly ops: readonly Op[];
}

/** What the owner assumes. If one part is no longer true, the whole change is refused. */
export interface Owner {
  readonly agentId: AgentId;
  readonly node: number;
  readonly epoch: number;
  /** Refused after a later marker (M10). */
  readonly sessionId?: SessionId;
  /** The run must be open, at this step, and without an abort mark unless `evenAborted` (M9). */
  readonly run?: { readonly id: RunId; readonly step: number; readonly evenAborted?: boolean };
  /** The revision of people's rights that this change was decided by. Refused if a right has changed since (M30). */
  readonly rights?: number;
}

/** The fact that counts changes of people's rights. */
export const RIGHTS_REVISION = "rights.revision";
/** Facts whose keys begin so are questions of `ask_user`. Each has `askedAt`. */
export const QUESTION_FACTS = "question.";
/** The fact about scopes of conversations and those that were carried over. It is in `people.json` too (M6). */
export const CONVERSATIONS_FACT = "conversations";

/** The recipient of a message: an existing agent, or the agent of a session key, created if it does not exist. */
export type Recipient =
  | { readonly agentId: AgentId }
  | { readonly sessionKey: SessionKey; readonly create?: AgentSeed };

/** Detects a message that was accepted before (M5). */
export interface Dedupe {
  readonly key: string;
  /** Kept until then, and as long as the message is unsettled. */
  readonly keepUntil: number;
}

/** An op that belongs to the message of its change: it has no effect if that message was accepted before (M5). */
interface IfPosted {
  readonly ifPosted?: true;
}

export type Op =
  // Allowed without ownership, for any agent.
  /** `fresh`: refused if the session key is taken. Otherwise the agent with that key is the result. */
  | { readonly op: "agent.create"; readonly seed: AgentSeed; readonly fresh?: boolean }
  | {
      readonly op: "message.post";
      readonly to: Recipient;
      readonly message: NewMessage;
      readonly dedupe?: Dedupe;
      /** The HTTP request that posts it. If it repeats an earlier one, that one's message is the result (M18). */
      readonly request?: RequestEntry;
      /** Refused as full if as many messages of any kind wait already, unless it was accepted before (M18a). */
      readonly maxWaiting?: number;
      /** Claims the recipient for this node if no node holds it, in the same commit. */
      readonly claimFor?: number;
    }
  /** `fresh`: refused as a conflict unless this sets the mark. Otherwise the result says whether it did. */
  | { readonly op: "run.abort"; readonly runId: RunId; readonly mark: AbortMark; readonly fresh?: boolean }
  /** An agent's run waits for another agent. Refused if that closes a cycle of open runs (M11). Idempotent by id. */
  | {
      readonly op: "wait.begin";
      readonly id: string;
      readonly from: AgentId;
      readonly to: Recipient;
      readonly runId: RunId;
    }
  | { readonly op: "wait.end"; readonly id: string }
  /** `ifSeq`: refused unless the current mark has that sequence, so that a later stop is never taken back. */
  | { readonly op: "agent.stop"; readonly agentId: AgentId; readonly mark: StopMark | null; readonly ifSeq?: number }
  /** Removes a resting agent for good. Refused while a message waits or a run is open. Its open deliveries are still sent. */
  | {
      readonly op: "agent.remove";
      readonly agentId: AgentId;
      readonly reason: string;
      /** Its history, messages and runs stay readable. */
      readonly keep?: boolean;
    }
  /**
   * Removes an agent for good, at work or not, with everything it holds: history, deliveries, approvals, records, budgets. Its holder is
   * fenced. Its row stays without a name and a person, because digests of its dedupe keys and requests stay until their horizon.
   */
  | { readonly op: "agent.erase"; readonly agentId: AgentId; readonly tombstone: string }
  /**
   * Erases what names people: records, accounts, the named jobs and budgets with their rows. The audit log and answers keep the tombstone
   * in the place of a person. What other people's agents hold stays.
   */
  | {
      readonly op: "person.erase";
      readonly people: readonly string[];
      readonly jobs: readonly string[];
      readonly budgets: readonly string[];
      readonly tombstone: string;
    }
  // Ownership.
  /** `was`: the earlier number of the same process, which lost its lease but did not die (M13). */
  | { readonly op: "node.join"; readonly name: string; readonly leaseUntil: number; readonly was?: number }
  | { readonly op: "node.renew"; readonly node: number; readonly leaseUntil: number }
  | { readonly op: "node.leave"; readonly node: number }
  | { readonly op: "agent.claim"; readonly agentId: AgentId; readonly node: number }
  /**
   * Claims up to `limit` agents that have work and no living owner. `own`: also lists those the node already holds, for a node
   * that missed the answer to a claim. `after`: continues after an earlier portion.
   */
  | {
      readonly op: "agents.claim";
      readonly node: number;
      readonly limit: number;
      readonly own?: boolean;
      readonly after?: AgentId;
    }
  // Owner only.
  /** Releases the agent if no message waits and no run is open; compares counters in the same statement (M3). */
  | { readonly op: "agent.release" }
  /** Gives the agent, with what waits for it, to another living node. Refused if that node's lease has ended. */
  | { readonly op: "agent.hand"; readonly to: number }
  | {
      readonly op: "message.take";
      readonly runId: RunId;
      readonly seqs: readonly number[];
      /** Refused if a reset waits that came after this sequence: it goes first, and these run in the new session (M10). */
      readonly unlessResetAfter?: number;
    }
  | { readonly op: "message.settle"; readonly settlements: readonly Settlement[] }
  /** Counts a failed try at handling a message, which waits on. Refused unless it waits (M48). */
  | { readonly op: "message.tried"; readonly seq: number; readonly message: TriedMessage }
  | {
      readonly op: "entries.append";
      /** The position of the first line; must be the agent's next one. */
      readonly position: number;
      readonly lines: readonly string[];
      readonly leaf: EntryId;
    }
  /** A new description, prompt or workspace of a permanent agent. No other kind can change its descriptor. */
  | { readonly op: "agent.describe"; readonly descriptor: AgentDescriptor }
  /** Moves the tip to an existing entry. */
  | { readonly op: "leaf.move"; readonly leaf: EntryId }
  | { readonly op: "session.begin"; readonly sessionId: SessionId }
  | { readonly op: "state.put"; readonly state: AgentState }
  | { readonly op: "run.open"; readonly runId: RunId; readonly body: RunBody }
  /** A committed step: increments the step. Without `attempt` the attempts start again at 1 (M13). */
  | { readonly op: "run.step"; readonly runId: RunId; readonly body: RunBody; readonly attempt?: number }
  /** Replaces the body of an open run. It is no step: step and attempt stay as they are. */
  | { readonly op: "run.amend"; readonly runId: RunId; readonly body: RunBody }
  | { readonly op: "run.end"; readonly runId: RunId; readonly body: RunBody; readonly outcome: RunOutcome }
  /** A run that waits for a person: while it is suspended, the agent counts as idle as long as no message waits (M31). */
  | { readonly op: "run.suspend"; readonly runId: RunId; readonly suspended: boolean }
  /** A question about a call. Refused if the call has one already, or if the id is taken. */
  | { readonly op: "approval.ask"; readonly approval: NewApproval }
  /** A call uses a yes. Refused unless it is unused, in time, and for the same digest. The row names the call from then on. */
  | {
      readonly op: "approval.use";
      readonly id: ApprovalId;
      readonly digest: string;
      readonly by: { readonly runId: RunId; readonly callId: string };
    }
  | { readonly op: "delivery.add"; readonly delivery: NewDelivery }
  /**
   * Reserves the cost of a model call on every row, or returns which budget refuses it; decided inside the transaction (M21).
   * Idempotent by id.
   */
  | {
      readonly op: "budget.reserve";
      readonly id: string;
      readonly runId: RunId;
      readonly call: CallCost;
      readonly rows: readonly LimitedRow[];
      /** Replaces the body of the run if the call may start: it says which messages are counted. */
      readonly counted?: RunBody;
    }
  /** This agent's person was told that the budget is used up. */
  | { readonly op: "budget.told"; readonly key: string }
  // Guarded by the row they change, not by an agent's owner.
  /** A person drops a message. Refused unless it waits, so a message is either taken or dropped (L1). */
  | { readonly op: "message.drop"; readonly agentId: AgentId; readonly seq: number; readonly reason: string }
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
      /** The node that sends it. While that node lives, no other node takes it. */
      readonly node?: number;
      /** Moves it behind all others and counts its age from now (a person's retry, M17; a route that appears, M26). */
      readonly toTail?: boolean;
      /** Its new address. Only together with `toTail`. */
      readonly target?: DeliveryContext;
      /** What is sent instead: a person has edited it. Only together with `toTail`. */
      readonly payload?: Payload;
    }
  /** The cost replaces the reservation; `unknown` charges the reserved amount. No effect if it was settled before. */
  | {
      readonly op: "budget.settle";
      readonly id: string;
      readonly actual: Spend | "unknown";
      readonly estimated?: boolean;
    }
  /** Charges the open reservations of a run whose results will never be known. */
  | { readonly op: "budget.forfeit"; readonly runId: RunId }
  /** Adds what an ended run has used to a row. Committed with the run's end, so that it counts once (M18). */
  | { readonly op: "budget.charge"; readonly key: string; readonly spent: Spend }
  /** A person allows more. When that is used up too, the persons concerned get a message again. */
  | { readonly op: "budget.lift"; readonly key: string; readonly more: Spend }
  /** Charges old reservations and removes old rows of past days. Rows of agents and trees stay. */
  | { readonly op: "budget.sweep"; readonly reservedBefore: number; readonly rowsBefore: number }
  /** `expect`: refused unless the record exists and is open, or has ended. */
  | { readonly op: "subagent.put"; readonly record: SubagentRunRecord; readonly expect?: "open" | "ended" }
  /** Writes a job with the next version. `expect`: refused unless the job has this version; 0: it must not exist. */
  | { readonly op: "job.put"; readonly job: CronJob; readonly expect?: number }
  | { readonly op: "job.remove"; readonly id: string; readonly expect?: number }
  /** The row of a due time. Refused if the slot already has one (L9). */
  | { readonly op: "job.slot"; readonly slot: JobSlot }
  /** How a delivery that belongs to a slot ended. */
  | { readonly op: "job.delivered"; readonly jobId: string; readonly slot: string; readonly told: SlotDelivered }
  /** The end of a slot's run. Written to the slot's row and to the job, if they still exist. Never refused. */
  | { readonly op: "job.ran"; readonly jobId: string; readonly slot: string; readonly end: JobRunEnd }
  | { readonly op: "subagent.remove"; readonly runId: string }
  /** `fresh`: refused if the name is taken. */
  | { readonly op: "swarm.put"; readonly swarm: SwarmRecord; readonly fresh?: boolean }
  | { readonly op: "swarm.remove"; readonly nametag: string }
  /**
   * Writes a person's record and moves the revision of rights. Refused if one of the accounts belongs to another person, or
   * unless the revision is `expect`.
   */
  | { readonly op: "person.put"; readonly person: PersonRecord; readonly expect?: number }
  | { readonly op: "person.remove"; readonly id: string; readonly expect?: number }
  /** Moves the revision of rights: the rules or the command settings of an agent change, which count for its children too. */
  | { readonly op: "rights.move" }
  /** Ends a question. Refused unless it is in this state with this digest: of two answers the first wins (M31). */
  | {
      readonly op: "approval.decide";
      readonly id: ApprovalId;
      readonly agentId: AgentId;
      readonly digest: string;
      readonly from: "pending" | "approved";
      readonly to: Exclude<ApprovalState, "pending" | "used">;
      /** Until when a yes may be used. */
      readonly until?: number;
      /** A person's id, or `system`. */
      readonly by: string;
      readonly surface: string;
      readonly reason?: string;
    }
  /**
   * Withdraws every open question and every unused yes of an agent, or only this one. A suspended run becomes work again, so that a node
   * finds it also if this process ends now. No effect if the agent does not exist.
   */
  | ({
      readonly op: "approval.withdraw";
      readonly of: Recipient;
      readonly id?: ApprovalId;
      readonly reason: string;
    } & IfPosted)
  /** Counts a send of a question that may have arrived. No effect once the question was answered. */
  | { readonly op: "approval.shown"; readonly id: ApprovalId; readonly agentId: AgentId }
  /** Records that a withdrawn question has its notice, and adds the notice. Refused if it has one already: it comes once. */
  | {
      readonly op: "approval.told";
      readonly id: ApprovalId;
      readonly agentId: AgentId;
      /** Absent: the notice of another question names this one too. */
      readonly delivery?: NewDelivery;
    }
  /** Names blobs before their bytes are written, so that those of an upload that never ends are found and removed. */
  | { readonly op: "file.stage"; readonly blobs: readonly string[]; readonly until: number }
  /**
   * The row of a file. Refused as missing unless each of its blobs is staged or belongs to another file. The result says if the
   * file exists already, or if its person's files would exceed `quota` bytes; then nothing is written.
   */
  | { readonly op: "file.put"; readonly file: StoredFile; readonly quota: number }
  /**
   * An agent or a delivery refers to files: they are kept as long as it exists. Refused if one is not a file of `person`;
   * with `ifKept` one that does not exist is left out instead.
   */
  | ({
      readonly op: "file.hold";
      readonly ifKept?: true;
      readonly files: readonly string[];
      readonly by: Recipient | { readonly delivery: DeliveryId };
      readonly person?: string;
    } & IfPosted)
  | { readonly op: "file.remove"; readonly id: string }
  /**
   * Removes the files of one bounded portion that were stored before a time and that nothing refers to. The result names blobs
   * that no row will ever use again; their bytes are deleted after this commit, and then `file.gone` is committed.
   */
  | { readonly op: "file.sweep"; readonly before: number; readonly limit: number; readonly after?: string }
  | { readonly op: "file.gone"; readonly blobs: readonly string[] }
  /** A row of the audit log, in the commit of what it tells about. */
  | { readonly op: "audit.add"; readonly entry: AuditEntry }
  /** Counts messages between a swarm and a contact; the first one creates the contact. `known`: refused if it does not exist. */
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
   * A small durable value: a connector's offset, a counter. `null` removes it. `expect`: refused unless the current value is
   * this one; `null`: there must be none.
   */
  | {
      readonly op: "fact.put";
      readonly key: string;
      readonly value: string | null;
      readonly expect?: string | null;
    }
  /**
   * The reply to a request with an `Idempotency-Key`, committed with what the request changes (M18). Refused if the key has a
   * reply or belongs to another request: then nothing is changed a second time.
   */
  | { readonly op: "request.put"; readonly request: KeyedEntry; readonly reply: string }
  /** All of the response was sent. No effect if a later request has taken the row. */
  | { readonly op: "request.finish"; readonly key: string; readonly agentId: AgentId; readonly seq: number }
  /** Removes one bounded portion of expired rows; history is never pruned. */
  | {
      readonly op: "prune";
      readonly what: Prunable;
      readonly before: number;
      readonly limit: number;
      readonly after?: string;
    };

export type Prunable =
  | "messages"
  | "deliveries"
  | "dedupe"
  | "requests"
  | "runs"
  | "changes"
  | "slots"
  | "audit"
  | "approvals"
  | "questions";

export interface Settlement {
  readonly seq: number;
  /** The state it leaves; another state refuses the change. */
  readonly from: "waiting" | "taken";
  readonly state: Exclude<MessageState, "waiting" | "taken">;
  readonly runId?: RunId;
  readonly reason?: string;
}

/** The result of an op. Ops not named here have none. */
export type OpResult =
  | { readonly op: "agent.create"; readonly agentId: AgentId; readonly created: boolean }
  | ({ readonly op: "message.post" } & Posted)
  | { readonly op: "run.abort"; readonly marked: boolean }
  | { readonly op: "node.join"; readonly node: number }
  | { readonly op: "agent.claim"; readonly epoch: number | undefined }
  | { readonly op: "agents.claim"; readonly claims: readonly { readonly agentId: AgentId; readonly epoch: number }[] }
  | { readonly op: "agent.release"; readonly released: boolean }
  /** Only if no other delivery to its target is open: it is the next to be sent there. */
  | { readonly op: "delivery.add"; readonly next: DeliveryId }
  /** `told`: whether this agent's person was told before that the budget is reached. */
  | { readonly op: "budget.reserve"; readonly decision: BudgetDecision; readonly told: boolean }
  | { readonly op: "budget.forfeit"; readonly charged: number }
  | { readonly op: "budget.sweep"; readonly charged: number; readonly removed: number }
  /** `woken`: it was suspended and is work again. */
  | { readonly op: "approval.withdraw"; readonly withdrawn: number; readonly woken?: AgentId }
  | { readonly op: "file.put"; readonly status: "stored" | "exists" | "full"; readonly used: number }
  | {
      readonly op: "file.sweep";
      readonly removed: number;
      readonly blobs: readonly string[];
      readonly next: string | undefined;
    }
  | { readonly op: "prune"; readonly removed: number; readonly next: string | undefined };

export interface Posted {
  readonly agentId: AgentId;
  /** The new sequence, or the earlier one of the same message. */
  readonly seq: number;
  readonly duplicate: boolean;
  /** Whether this message created the agent. */
  readonly created: boolean;
  /** The node that holds the recipient after this commit. */
  readonly holder?: { readonly node: number; readonly epoch: number };
  /** No other message waits there. Absent: unknown. */
  readonly alone?: true;
}

/** Why a change was not applied. Expected, so returned and not thrown. */
export type Refusal =
  /** Another node, or a later claim, holds the agent. */
  | "fenced"
  /** A marker came after the session this change belongs to. */
  | "session"
  /** The run has an abort mark. */
  | "aborted"
  /** The run has ended or is at another step. */
  | "run"
  /** The rights of people have changed since the change was decided (M30). */
  | "rights"
  /** The agent or one of its ancestors was stopped (M20). */
  | "stopped"
  /** There is no such agent, run or delivery. */
  | "missing"
  /** Agents would wait for each other in a cycle (M11). */
  | "cycle"
  /** As many messages wait as the post allows (M18a). */
  | "full"
  /** Something else changed in between: a delivery's state, a position. */
  | "conflict";

export type CommitResult =
  | { readonly ok: true; readonly results: readonly (OpResult | undefined)[] }
  | { readonly ok: false; readonly refused: Refusal; readonly detail: string };
