/** The evidence for the auditor: the records of the outside and the public listing. Types only; no engine code. */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import type { BudgetRecord, Reservation } from "../../../src/core/budget/budget.ts";
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { Message } from "../../../src/core/message/message.ts";
import type { StoredFile } from "../../../src/core/message/stored-file.ts";
import type { Approval } from "../../../src/core/rights/approval.ts";
import type { RunRecord } from "../../../src/core/run/run.ts";
import type { StoreReader } from "../../../src/core/store/store.ts";
import type { WaitEdge } from "../../../src/core/store/wait.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import type { AbortRecord } from "../world/aborts.ts";
import type { AnswerRecord, Watched } from "../world/approvers.ts";
import type { BranchRecord } from "../world/branches.ts";
import type { CallerAnswer } from "../world/callers.ts";
import type { Channel } from "../world/channel.ts";
import type { JobEvidence } from "../world/jobs.ts";
import type { ModelCall } from "../world/model-call.ts";
import type { ActRecord } from "../world/people-acts.ts";
import type { KeyUse } from "../world/routed-model.ts";
import type { Execution } from "../world/sim-tools.ts";
import type { SummaryCall } from "../world/summariser.ts";
import type { Waited } from "../world/wait-log.ts";
import type { Workload } from "../world/workload.ts";
import type { Applied } from "./audit-subagents.ts";

export interface Evidence {
  readonly scenario: Scenario;
  readonly workload: Workload;
  readonly channels: readonly Channel[];
  readonly calls: readonly ModelCall[];
  readonly summaries: readonly SummaryCall[];
  readonly executions: readonly Execution[];
  readonly listed: readonly ListedAgent[];
  readonly aborts: readonly AbortRecord[];
  readonly budgets: readonly BudgetRecord[];
  readonly reservations: readonly Reservation[];
  readonly keyUses: readonly KeyUse[];
  readonly branches: readonly BranchRecord[];
  /** Codes that link an account, and who got them. */
  readonly linkCodes: ReadonlyMap<string, string>;
  /** Messages that people dropped, and deliveries they edited. */
  readonly drops: readonly ActRecord[];
  readonly edits: readonly ActRecord[];
  /** What people said over HTTP, and whose answer their programs got. */
  readonly callerTokens: readonly string[];
  readonly callerAnswers: readonly CallerAnswer[];
  /** Everything the store applied, in its order. */
  readonly applied: readonly Applied[];
  /** How often a process died without being drained. */
  readonly deaths: number;
  /** The processes that were paused, one entry per pause. */
  readonly paused: readonly string[];
  readonly nodes: number;
  /** Process → when each of its leases began. */
  readonly leases: ReadonlyMap<string, readonly number[]>;
  readonly leaseMs: number;
  /** Agents that are listed as waiting for another. */
  readonly waits: readonly WaitEdge[];
  /** How long agents waited for each other, recorded by their tools. */
  readonly waited: readonly Waited[];
  readonly jobs: readonly JobEvidence[];
  readonly permanentAgents: readonly string[];
  /** The prompts that each permanent agent got, in order. */
  readonly described: ReadonlyMap<string, readonly string[]>;
  /** Permanent agents that were removed for good, by their ids. */
  readonly removed: readonly string[];
  /** The removed agents and their remaining records. They are not in the normal listing. */
  readonly gone: readonly ListedAgent[];
  /** Questions about calls, the newest first. */
  readonly approvals: readonly Approval[];
  /** What people answered, and the contents of the file that every question names. */
  readonly answers: readonly AnswerRecord[];
  readonly watched: readonly Watched[];
  /** The files of people, which bytes are there, and before when one that nothing refers to must be gone. */
  readonly files?: {
    readonly rows: readonly StoredFile[];
    readonly blobs: ReadonlySet<string>;
    readonly quotaBytes: number;
    readonly oldest: number;
  };
}

/** One agent as the public listing shows it, everything oldest first. */
export interface ListedAgent {
  readonly agent: AgentRecord;
  readonly messages: readonly Message[];
  readonly runs: readonly RunRecord[];
  readonly deliveries: readonly Delivery[];
  readonly lines: readonly string[];
}

const ALL = 100_000;
const STATES = [
  "pending",
  "sending",
  "waiting-reader",
  "unroutable",
  "sent",
  "suppressed",
  "failed",
  "unconfirmed",
] as const;

export async function listAgents(reader: StoreReader): Promise<readonly ListedAgent[]> {
  const listed: ListedAgent[] = [];
  for (const agent of await reader.agents({ limit: ALL })) listed.push(await listAgent(reader, agent));
  return listed;
}

export async function listAgent(reader: StoreReader, agent: AgentRecord): Promise<ListedAgent> {
  return {
    agent,
    messages: (await reader.messages(agent.id, { limit: ALL })).toReversed(),
    runs: (await reader.runs(agent.id, { limit: ALL })).toReversed(),
    deliveries: await reader.deliveries({ limit: ALL, states: STATES, agentId: agent.id }),
    lines: (await reader.linesBack(agent.id, { limit: ALL })).map(({ line }) => line).toReversed(),
  };
}
