/**
 * The registry of spawned children, under clawdbot's names. It lives only in the store, so it is the same after a crash and on
 * every node. A record is created with its child, ends with its child's work, and is archived after a rest.
 */

import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { errorText } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { type CommitPorts, submit } from "../commit/submit.ts";
import type { DueSweep } from "../due-sweep.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { type ReportPorts, runSubagentAnnounceFlow, type SubagentEnd } from "./report.ts";
import { startSweep } from "./sweep.ts";

/** The record of a new spawn, as an op for the commit that creates the child. */
export function registerSubagentRun(record: SubagentRunRecord): Op {
  return { op: "subagent.put", record: { startedAt: record.createdAt, ...record } };
}

/** The children of a requester, oldest first: those at work, and those that ended and are not archived yet. */
export async function listSubagentRunsForRequester(
  store: Pick<StoreReader, "subagentRuns">,
  requesterSessionKey: string,
): Promise<readonly SubagentRunRecord[]> {
  const records = await store.subagentRuns({ requesterSessionKey });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

export type RegistryPorts = ReportPorts & Pick<Ports, "ids">;

/** Removes the record of a run that has ended. False if the run is unknown or still open, which has to report first. */
export async function releaseSubagentRun(ports: CommitPorts, runId: string): Promise<boolean> {
  const record = await ports.store.subagentRun(runId);
  if (record?.endedAt === undefined) return false;
  return (await submit(ports, "subagent.release", [{ op: "subagent.remove", runId }])).ok;
}

export interface RegistryHost {
  readonly emit: Emit;
  /** Whether other nodes end children too. */
  readonly shared: boolean;
  /** Called after a commit that has ended records. */
  committed(ops: readonly Op[]): void;
}

/**
 * Starts the registry: reports children whose work ended without a report (their run was lost with the database), and starts
 * the timer that archives children.
 */
export function initSubagentRegistry(ports: RegistryPorts, host: RegistryHost): DueSweep {
  reportLost(ports, host).catch((error) =>
    ports.log.warn("lost children will be reported at the next start", { error: errorText(error) }),
  );
  return startSweep(ports, host);
}

async function reportLost(ports: RegistryPorts, host: RegistryHost): Promise<void> {
  const { store } = ports;
  for (const { runId } of await store.subagentRuns({ open: true })) {
    if (await isOver(store, runId)) await reportNow(ports, runId, LOST, host);
  }
}

const LOST: SubagentEnd = { outcome: { status: "unknown" }, reason: "it was lost" };

/** Reports a child whose agent cannot be restored. */
export async function reportGivenUp(
  ports: RegistryPorts,
  { agentId, reason }: { readonly agentId: AgentId; readonly reason: string },
  host: RegistryHost,
): Promise<void> {
  const end: SubagentEnd = { outcome: { status: "error", error: reason }, reason: "its agent cannot be restored" };
  for (const { runId, childAgentId } of await ports.store.subagentRuns({ open: true })) {
    if (childAgentId === agentId) await reportNow(ports, runId, end, host);
  }
}

/** Ends a record in a separate commit. The store refuses if the child's own end came first. */
async function reportNow(
  ports: RegistryPorts,
  runId: string,
  end: SubagentEnd,
  { emit, committed }: RegistryHost,
): Promise<void> {
  const { store } = ports;
  // Read again: a run that ended normally has ended its record in the same commit.
  const record = await store.subagentRun(runId);
  if (record?.endedAt !== undefined || !record) return;
  const ops = await runSubagentAnnounceFlow(ports, record, undefined, end);
  const done = await submit(ports, "subagent.lost", ops);
  if (!done.ok) return;
  emitPosted(emit, done.results);
  committed(ops);
}

/** Whether a run can bring no more result: it has ended, or neither it nor its message exists. */
async function isOver(store: StoreReader, runId: string): Promise<boolean> {
  const run = await store.run(runId as RunId);
  if (run) return run.state === "ended";
  const record = await store.subagentRun(runId);
  if (!record || record.childAgentId === undefined) return record !== undefined;
  const child = await store.agent(record.childAgentId as AgentId);
  return !child || child.stopped?.removed === true || (child.waiting === 0 && child.runId === undefined);
}
