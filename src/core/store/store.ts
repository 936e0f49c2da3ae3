/**
 * The store's port. It exists so that the same engine runs on an embedded SQLite file, on a shared PostgreSQL and inside
 * the simulation. Writing is one function; everything else reads. Reads see every commit that has resolved.
 */
import type { AgentRecord } from "../agent/agent.ts";
import type { AgentFetchStrategy, AgentKind } from "../agent/descriptor.ts";
import type { SubagentRunRecord } from "../agent/subagent-run.ts";
import type { SwarmContact, SwarmRecord } from "../agent/swarm.ts";
import type { BudgetRecord, Reservation } from "../budget/budget.ts";
import type { Delivery, DeliveryState, WaitingState } from "../delivery/delivery.ts";
import type { AgentId, ChangeId, DeliveryId, RunId, SessionKey } from "../ids.ts";
import type { Message, MessageState, UnansweredState } from "../message/message.ts";
import type { StoredFile } from "../message/stored-file.ts";
import type { AuditFilter, AuditRow } from "../people/audit.ts";
import type { PersonRecord } from "../people/person-record.ts";
import type { Approval, ApprovalFilter, ApprovalId } from "../rights/approval.ts";
import type { RunRecord } from "../run/run.ts";
import type { CronJob } from "../schedule/job.ts";
import type { JobSlot } from "../schedule/job-slot.ts";
import type { Change, CommitResult, Prunable } from "./change.ts";
import type { RequestRecord } from "./request.ts";
import type { WaitEdge } from "./wait.ts";
import type { WorkCounts } from "./work-counts.ts";

export interface Store extends StoreReader {
  /**
   * Applies a change as a whole or not at all; durable when it resolves. Rejects with `CommitUnknownError` if the outcome is
   * unknown, with `StoreFullError` if nothing was stored for lack of space, with `StoreLostError` if its files are no longer
   * in their places, with `StoreClosedError` after `close`.
   */
  commit(change: Change): Promise<CommitResult>;
  /** The outcome of a change; undefined if it was not applied (M2). */
  outcome(id: ChangeId): Promise<CommitResult | undefined>;
  /** Rejects with the reason if a commit would fail now. */
  ready(): Promise<void>;
  /** Calls back with agents that another node posted to: a hint, may be late or missing (M24). Returns how to stop. */
  onHint(listener: (agentId: AgentId) => void): () => void;
  /** The reads that forgetting a person needs besides ops. Absent: this store forgets no one. */
  readonly eraser?: StoreEraser;
  close(): Promise<void>;
}

/** Reads over whole tables, for the rare cases that a person is forgotten or old rows are removed by hand. */
export interface StoreEraser {
  /** Agents in the order of creation, also removed ones. */
  agents(page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;
  /** By key. */
  facts(page: Page & { readonly after?: string }): Promise<readonly { readonly key: string; readonly value: string }[]>;
  /** How many messages and lines of history of each of these agents contain one of the texts. */
  mentions(
    agents: readonly AgentId[],
    texts: readonly string[],
  ): Promise<readonly { readonly agentId: AgentId; readonly count: number }[]>;
  /** How many rows `prune` would remove with this time. */
  prunable(what: Prunable, before: number): Promise<number>;
  /** Gives the space of deleted rows back and overwrites it (SQLite), or marks it as free (PostgreSQL). */
  compact(): Promise<void>;
}

export interface Page {
  readonly limit: number;
}

export interface StoreReader {
  /** Includes removed agents, which have a mark. */
  agent(id: AgentId): Promise<AgentRecord | undefined>;
  agentByKey(key: SessionKey): Promise<AgentRecord | undefined>;
  agentFor(strategy: AgentFetchStrategy): Promise<AgentRecord | undefined>;
  /** The conversations that people wrote to, of all people, the latest first; `before`: behind this one, as it was read. */
  recentForeground(
    page: Page & { readonly before?: { readonly at: number; readonly agentId: AgentId } },
  ): Promise<readonly AgentRecord[]>;
  /** Agents in the order of creation, for listings; `newest`: reversed. */
  agents(page: Page & { readonly after?: AgentId; readonly newest?: boolean }): Promise<readonly AgentRecord[]>;
  /** Agents without a parent, the newest first. */
  roots(page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;
  /** Agents with waiting messages or an open run that is not suspended, in the order of creation. */
  busyAgents(page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;
  /** The children of an agent in the order of creation, without removed ones. */
  children(agentId: AgentId, page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;

  /** Agents of one kind in the order of creation. The cost depends only on the result. */
  agentsOfKind(kind: AgentKind, page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;

  /** Waiting messages, oldest first. `urgent`: only those that overtake. */
  waiting(
    agentId: AgentId,
    page: Page & { readonly afterSeq?: number; readonly urgent?: boolean },
  ): Promise<readonly Message[]>;
  message(agentId: AgentId, seq: number): Promise<Message | undefined>;
  messages(
    agentId: AgentId,
    page: Page & { readonly beforeSeq?: number; readonly states?: readonly MessageState[] },
  ): Promise<readonly Message[]>;

  /** The messages of all agents that got no answer, in one of these states, the latest settled first. */
  unanswered(
    page: Page & {
      readonly states: readonly UnansweredState[];
      readonly before?: { readonly at: number; readonly agentId: AgentId; readonly seq: number };
    },
  ): Promise<readonly Message[]>;

  /** Lines of history with a position below `before`, newest first. */
  linesBack(agentId: AgentId, page: Page & { readonly before?: number }): Promise<readonly Line[]>;

  run(id: RunId): Promise<RunRecord | undefined>;
  /**
   * Open runs that were resumed before without a step since, or have been tried, and that the node which holds them has not resumed:
   * they wait for a trial (M13). The oldest first. `node`: only those that this node holds.
   */
  heldBackRuns(page: Page & { readonly node?: number }): Promise<readonly RunRecord[]>;
  /** Newest first. */
  runs(agentId: AgentId, page: Page & { readonly before?: RunId }): Promise<readonly RunRecord[]>;

  delivery(id: DeliveryId): Promise<Delivery | undefined>;
  /** The oldest `pending` or `sending` delivery to this target (a `targetKey`): the next to be sent (M17). */
  deliveryHead(target: string): Promise<Delivery | undefined>;
  /** The `unconfirmed` deliveries to this target (a `targetKey`), the last in the store's order first. */
  unconfirmed(target: string, page: Page): Promise<readonly Delivery[]>;
  /** In the store's order. Without `states`: those that have not ended. */
  deliveries(
    page: Page & { readonly afterN?: number; readonly states?: readonly DeliveryState[]; readonly agentId?: AgentId },
  ): Promise<readonly Delivery[]>;
  /** The `waiting-reader` deliveries of one mailbox (a `targetKey`), in the store's order (M27). */
  mailbox(target: string, page: Page & { readonly afterN?: number }): Promise<readonly Delivery[]>;
  /** The `waiting-reader` deliveries of all mailboxes of a channel, by target and then in the store's order. */
  mailboxesOf(channel: string, page: Page): Promise<readonly Delivery[]>;
  /** Mailboxes (by `targetKey`) with more than `limit` waiting deliveries, and how many there are. */
  fullMailboxes(limit: number): Promise<readonly { readonly target: string; readonly count: number }[]>;
  /** How many deliveries wait for a reader and for a route. */
  waitingDeliveries(): Promise<Readonly<Record<WaitingState, number>>>;
  /** How much is under way now, and how many messages have failed since a time. Counted in indexes, at the cost of what is counted. */
  workCounts(since: number): Promise<WorkCounts>;

  job(id: string): Promise<CronJob | undefined>;
  /** By id; all of them without a page. */
  jobs(page?: Page & { readonly after?: string }): Promise<readonly CronJob[]>;
  /** Jobs to check by a time, earliest first: those due, or the next one. */
  nextJobs(page: Page & { readonly before?: number }): Promise<readonly CronJob[]>;
  /** The slots of a job, newest first. */
  jobSlots(
    jobId: string,
    page: Page & { readonly beforeN?: number },
  ): Promise<readonly (JobSlot & { readonly n: number })[]>;
  jobSlot(jobId: string, slot: string): Promise<JobSlot | undefined>;
  subagentRun(runId: string): Promise<SubagentRunRecord | undefined>;
  subagentRuns(filter?: SubagentRunFilter): Promise<readonly SubagentRunRecord[]>;
  /** How many children of a requester have not ended. */
  openSubagentRuns(requesterSessionKey: string): Promise<number>;
  budget(key: string): Promise<BudgetRecord | undefined>;
  /** By key, for listings. */
  budgets(page: Page & { readonly after?: string }): Promise<readonly BudgetRecord[]>;
  /** Open reservations, oldest first. */
  reservations(page: Page): Promise<readonly Reservation[]>;
  /** The usage of runs that began at or after a time, and before another one, by agent and person. */
  usageSince(at: number, until?: number): Promise<readonly RunUsage[]>;
  /** Waits of open runs, of one agent or of all, by id. */
  waits(page: Page & { readonly from?: AgentId; readonly after?: string }): Promise<readonly WaitEdge[]>;
  swarm(nametag: string): Promise<SwarmRecord | undefined>;
  /** By their names. */
  swarms(page: Page & { readonly after?: string }): Promise<readonly SwarmRecord[]>;
  swarmContact(nametag: string, contact: AgentId): Promise<SwarmContact | undefined>;
  /** The latest first. */
  swarmContacts(nametag: string, page: Page): Promise<readonly SwarmContact[]>;
  person(id: string): Promise<PersonRecord | undefined>;
  /** By id. */
  people(page: Page & { readonly after?: string }): Promise<readonly PersonRecord[]>;
  /** The owner of an account, as `channel:id`. */
  personByAccount(account: string): Promise<PersonRecord | undefined>;
  /** Counts the changes of people's rights. */
  rightsRevision(): Promise<number>;
  /** The newest first. */
  audit(filter: AuditFilter): Promise<readonly AuditRow[]>;
  approval(id: ApprovalId): Promise<Approval | undefined>;
  /** The newest first. */
  approvals(filter: ApprovalFilter): Promise<readonly Approval[]>;
  /** Questions and unused yeses by the time at which they end, earliest first: those due, or the next ones. */
  approvalsDue(page: Page & { readonly by?: number }): Promise<readonly Approval[]>;
  /** The open questions and unused yeses of an agent, oldest first, including expired ones. */
  openApprovals(agentId: AgentId): Promise<readonly Approval[]>;
  file(id: string): Promise<StoredFile | undefined>;
  /** Some file with this content. */
  fileBySha(sha: string): Promise<StoredFile | undefined>;
  /** By id, of one person or of all. */
  files(page: Page & { readonly person?: string; readonly after?: string }): Promise<readonly StoredFile[]>;
  /** Whether an agent refers to a file. */
  holdsFile(agentId: AgentId, id: string): Promise<boolean>;
  /** How many bytes a person's files have. */
  fileBytes(person: string): Promise<number>;
  fact(key: string): Promise<string | undefined>;
  /** A row of the ledger of HTTP requests, also an expired one that was not pruned yet (M18). */
  request(key: string): Promise<RequestRecord | undefined>;
  nodes(): Promise<readonly NodeRecord[]>;
}

/** Sums over runs. `person`: as the run's messages name them; absent if they name none. */
export interface RunUsage {
  readonly agentId: AgentId;
  readonly person?: string;
  readonly runs: number;
  readonly tokens: number;
  /** In dollars, by the providers' prices. */
  readonly cost: number;
}
/** One of: the children of a requester, the open ones, or those due for archiving by a time (earliest first). */
export type SubagentRunFilter =
  | { readonly requesterSessionKey: string }
  | { readonly open: true }
  | { readonly dueBy: number; readonly limit: number };

export interface Line {
  readonly position: number;
  readonly line: string;
}

export interface NodeRecord {
  readonly node: number;
  readonly name: string;
  readonly leaseUntil: number;
  readonly left: boolean;
  /** Its process lost the lease and joined again under another number. Until then it may have continued its work. */
  readonly returned: boolean;
}
