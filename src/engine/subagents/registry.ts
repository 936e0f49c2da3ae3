/**
 * The registry of spawned children, under clawdbot's names. It lives in the store and nowhere else, so it is the same after
 * any crash and on any node; a record is made with its child, ends with its child's work, and is put away after a rest.
 */

import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { errorText } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { submit } from "../commit/submit.ts";
import { type Emit, emitPosted } from "../engine-event.ts";
import { type ReportPorts, type ReportSettings, runSubagentAnnounceFlow, type SubagentEnd } from "./report.ts";
import { type Sweep, startSweep } from "./sweep.ts";

/** The record of a new spawn, as an op for the commit that makes the child. */
export function registerSubagentRun(record: SubagentRunRecord): Op {
  return { op: "subagent.put", record: { startedAt: record.createdAt, ...record } };
}

/** What a requester has started, oldest first: what is at work, and what has ended and not yet been put away. */
export async function listSubagentRunsForRequester(
  store: Pick<StoreReader, "subagentRuns">,
  requesterSessionKey: string,
): Promise<readonly SubagentRunRecord[]> {
  const records = await store.subagentRuns({ requesterSessionKey });
  return records.toSorted((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1));
}

export type RegistryPorts = ReportPorts & Pick<Ports, "ids">;

/** Forgets a run that has ended. False for one that is at work, which still owes its report, and for one nobody knows. */
export async function releaseSubagentRun(ports: RegistryPorts, runId: string): Promise<boolean> {
  const record = await ports.store.subagentRun(runId);
  if (record?.endedAt === undefined) return false;
  return (await submit(ports, "subagent.release", [{ op: "subagent.remove", runId }])).ok;
}

/**
 * Takes the registry up after a start: children whose work ended without a report (their run was lost with the database) are
 * reported now, and one timer puts away what has rested long enough.
 */
export function initSubagentRegistry(
  ports: RegistryPorts,
  settings: ReportSettings,
  { emit, shared }: { readonly emit: Emit; readonly shared: boolean },
): Sweep {
  reportLost(ports, settings, emit).catch((error) =>
    ports.log.warn("lost children will be looked for at the next start", { error: errorText(error) }),
  );
  return startSweep(ports, settings, shared);
}

async function reportLost(ports: RegistryPorts, settings: ReportSettings, emit: Emit): Promise<void> {
  const { store } = ports;
  for (const { runId } of await store.subagentRuns({ open: true })) {
    if (await isOver(store, runId)) await reportNow(ports, settings, runId, LOST, emit);
  }
}

const LOST: SubagentEnd = { outcome: { status: "unknown" }, reason: "it was lost" };

/** Reports a child of which nothing more will come: its agent cannot be restored here. */
export async function reportGivenUp(
  ports: RegistryPorts,
  settings: ReportSettings,
  { agentId, reason }: { readonly agentId: AgentId; readonly reason: string },
  emit: Emit,
): Promise<void> {
  const end: SubagentEnd = { outcome: { status: "error", error: reason }, reason: "its agent cannot be restored" };
  for (const { runId, childAgentId } of await ports.store.subagentRuns({ open: true })) {
    if (childAgentId === agentId) await reportNow(ports, settings, runId, end, emit);
  }
}

/** Ends a record in a commit of its own. Refused where the child's own end came first. */
async function reportNow(
  ports: RegistryPorts,
  settings: ReportSettings,
  runId: string,
  end: SubagentEnd,
  emit: Emit,
): Promise<void> {
  const { store } = ports;
  // Read again: a run that ended properly ended its record in the same commit.
  const record = await store.subagentRun(runId);
  if (record?.endedAt !== undefined || !record) return;
  const ops = await runSubagentAnnounceFlow(ports, settings, record, undefined, end);
  const done = await submit(ports, "subagent.lost", ops);
  if (done.ok) emitPosted(emit, done.results);
}

/** Whether nothing will ever come of a run: it has ended, or neither it nor its message is there any more. */
async function isOver(store: StoreReader, runId: string): Promise<boolean> {
  const run = await store.run(runId as RunId);
  if (run) return run.state === "ended";
  const record = await store.subagentRun(runId);
  if (!record || record.childAgentId === undefined) return record !== undefined;
  const child = await store.agent(record.childAgentId as AgentId);
  return !child || child.stopped?.removed === true || (child.waiting === 0 && child.runId === undefined);
}
