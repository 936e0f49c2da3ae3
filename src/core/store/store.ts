/**
 * The store's port. It exists so that the same engine runs on an embedded SQLite file, on a shared PostgreSQL and inside
 * the simulation. Writing is one function; everything else reads. Reads see every commit that has resolved.
 */
import type { AgentRecord } from "../agent/agent.ts";
import type { AgentFetchStrategy, AgentKind } from "../agent/descriptor.ts";
import type { SubagentRunRecord } from "../agent/subagent-run.ts";
import type { SwarmContact, SwarmRecord } from "../agent/swarm.ts";
import type { BudgetRecord, Reservation } from "../budget/budget.ts";
import type { Delivery, DeliveryState } from "../delivery/delivery.ts";
import type { AgentId, ChangeId, DeliveryId, RunId, SessionKey } from "../ids.ts";
import type { Message, MessageState } from "../message/message.ts";
import type { RunRecord } from "../run/run.ts";
import type { CronJob } from "../schedule/job.ts";
import type { JobSlot } from "../schedule/job-slot.ts";
import type { Change, CommitResult } from "./change.ts";
import type { WaitEdge } from "./wait.ts";

export interface Store extends StoreReader {
  /**
   * Applies a change whole or not at all; durable when it resolves. Rejects with `CommitUnknownError` where nobody knows,
   * with `StoreFullError` where nothing was kept for want of room, with `StoreClosedError` after `close`.
   */
  commit(change: Change): Promise<CommitResult>;
  /** What became of a change, or undefined where it was not applied (M2). */
  outcome(id: ChangeId): Promise<CommitResult | undefined>;
  /** Calls back with agents that another node posted to: a hint, may be late or missing (M24). Returns how to stop. */
  onHint(listener: (agentId: AgentId) => void): () => void;
  close(): Promise<void>;
}

export interface Page {
  readonly limit: number;
}

export interface StoreReader {
  /** Also one that was removed: its mark says so. */
  agent(id: AgentId): Promise<AgentRecord | undefined>;
  agentByKey(key: SessionKey): Promise<AgentRecord | undefined>;
  agentFor(strategy: AgentFetchStrategy): Promise<AgentRecord | undefined>;
  /** Agents in the order they were made, for listings; `newest`: the other way round. */
  agents(page: Page & { readonly after?: AgentId; readonly newest?: boolean }): Promise<readonly AgentRecord[]>;
  /** Agents that nobody started, the newest first. */
  roots(page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;
  /** Agents for whom something waits or whose run has not ended, in the order they were made. */
  busyAgents(page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;
  /** The agents an agent has started, in the order they were made. Those that were removed are not among them. */
  children(agentId: AgentId, page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;

  /** Agents of one kind in the order they were made. Costs what it gives, however many others there are. */
  agentsOfKind(kind: AgentKind, page: Page & { readonly after?: AgentId }): Promise<readonly AgentRecord[]>;

  /** Messages that wait, oldest first. `urgent` gives only those that overtake. */
  waiting(
    agentId: AgentId,
    page: Page & { readonly afterSeq?: number; readonly urgent?: boolean },
  ): Promise<readonly Message[]>;
  message(agentId: AgentId, seq: number): Promise<Message | undefined>;
  messages(
    agentId: AgentId,
    page: Page & { readonly beforeSeq?: number; readonly states?: readonly MessageState[] },
  ): Promise<readonly Message[]>;

  /** Lines of history with a position below `before`, newest first. */
  linesBack(agentId: AgentId, page: Page & { readonly before?: number }): Promise<readonly Line[]>;

  run(id: RunId): Promise<RunRecord | undefined>;
  /** Newest first. */
  runs(agentId: AgentId, page: Page): Promise<readonly RunRecord[]>;

  delivery(id: DeliveryId): Promise<Delivery | undefined>;
  /** The oldest delivery to this target (a `targetKey`) that has not ended: the next to be sent (M17). */
  deliveryHead(target: string): Promise<Delivery | undefined>;
  /** In the store's order. Without `states`: those that have not ended. */
  deliveries(
    page: Page & { readonly afterN?: number; readonly states?: readonly DeliveryState[]; readonly agentId?: AgentId },
  ): Promise<readonly Delivery[]>;

  job(id: string): Promise<CronJob | undefined>;
  /** By id; all of them where no page is asked for. */
  jobs(page?: Page & { readonly after?: string }): Promise<readonly CronJob[]>;
  /** Jobs somebody must look at by a time, the first first: those due, or the next one. */
  nextJobs(page: Page & { readonly before?: number }): Promise<readonly CronJob[]>;
  /** What became of a job's due times, newest first. */
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
  /** Calls under way that something is reserved for, oldest first. */
  reservations(page: Page): Promise<readonly Reservation[]>;
  /** What runs that began at or after a time have used, by agent and by who wrote to it. */
  usageSince(at: number): Promise<readonly RunUsage[]>;
  /** Waits of runs that are open, of one agent or of all, by their ids. */
  waits(page: Page & { readonly from?: AgentId; readonly after?: string }): Promise<readonly WaitEdge[]>;
  swarm(nametag: string): Promise<SwarmRecord | undefined>;
  /** By their names. */
  swarms(page: Page & { readonly after?: string }): Promise<readonly SwarmRecord[]>;
  swarmContact(nametag: string, contact: AgentId): Promise<SwarmContact | undefined>;
  /** The latest first. */
  swarmContacts(nametag: string, page: Page): Promise<readonly SwarmContact[]>;
  fact(key: string): Promise<string | undefined>;
  nodes(): Promise<readonly NodeRecord[]>;
}

/** Sums over runs. `person` as the run's messages name it; absent where nobody is named. */
export interface RunUsage {
  readonly agentId: AgentId;
  readonly person?: string;
  readonly runs: number;
  readonly tokens: number;
  /** In dollars, as the providers' prices say. */
  readonly cost: number;
}
/** One of: the children of a requester, those that have not ended, those to be put away by a time (the first due first). */
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
  /** Its process lost the lease, lived on and joined again under another number. What it had begun may still go on until then. */
  readonly returned: boolean;
}
