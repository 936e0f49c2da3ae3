/** Collects the evidence for the auditor: outside records and the public listing. And the counts for the report. */
import type { AgentRecord } from "../../../src/core/agent/agent.ts";
import { type Evidence, type ListedAgent, listAgent, listAgents } from "../audit/evidence.ts";
import { FILE_SWEEP_MS, FILE_UNUSED_MS } from "../subjects/file-service.ts";
import type { World } from "./build-world.ts";
import type { Actors } from "./inject-faults.ts";
import { LEASE_MS, type Nodes } from "./nodes.ts";

export async function collectEvidence(world: World, nodes: Nodes, actors: Actors): Promise<Evidence> {
  const { reader } = world.backend;
  const { operator } = actors;
  const gone: ListedAgent[] = [];
  for (const id of operator.removed) gone.push(await listAgent(reader, (await reader.agent(id)) as AgentRecord));
  return {
    scenario: world.options.scenario,
    workload: world.workload,
    channels: world.channels,
    calls: world.model.calls,
    summaries: world.model.summaries,
    executions: world.tools.executions,
    listed: [...(await listAgents(reader)), ...gone.filter(({ agent }) => agent.stopped?.removed)],
    aborts: actors.aborts.records,
    budgets: await reader.budgets({ limit: 10_000 }),
    reservations: await reader.reservations({ limit: 10_000 }),
    keyUses: world.routed?.uses ?? [],
    branches: actors.branches.records,
    drops: actors.peopleActs.drops,
    linkCodes: actors.pairing?.linkCodes ?? new Map(),
    edits: actors.peopleActs.edits,
    callerTokens: actors.callers.tokens,
    callerAnswers: actors.callers.answers,
    applied: world.applied,
    deaths: nodes.deaths,
    paused: nodes.paused,
    leases: world.alone ? new Map() : world.store.leases,
    leaseMs: LEASE_MS,
    nodes: world.names.length,
    waits: await reader.waits({ limit: 100 }),
    waited: world.waited,
    jobs: await actors.jobs.evidence(),
    permanentAgents: world.participants.permanentAgents,
    described: operator.described,
    removed: operator.removed,
    gone,
    approvals: await reader.approvals({ limit: 10_000 }),
    answers: actors.approvers.answers,
    watched: actors.approvers.watched,
    files: await filesOf(world, nodes),
  };
}

/** Unused files go after `FILE_UNUSED_MS`, with the next sweep of a node that lives. */
async function filesOf({ options, backend, files }: World, nodes: Nodes): Promise<Evidence["files"]> {
  const { files: shape } = options.scenario;
  if (!shape) return undefined;
  const oldest = nodes.wall("a") - FILE_UNUSED_MS - 3 * FILE_SWEEP_MS;
  const rows = await backend.reader.files({ limit: 10_000 });
  return { rows, blobs: files.names(), quotaBytes: shape.quotaBytes, oldest };
}

/** How often each thing happened. */
export function countsOf(world: World, evidence: Evidence) {
  const { listed, calls, keyUses, summaries, executions, callerAnswers } = evidence;
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  for (const { state } of listed.flatMap(({ messages }) => messages)) count(state);
  for (const { state } of listed.flatMap(({ deliveries }) => deliveries)) count(`delivery ${state}`);
  for (const { error, results } of calls) {
    if (error !== undefined) count(`${error} behind ${Math.min(results, 2)} results`);
  }
  for (const { outcome } of keyUses) count(`key ${outcome}`);
  const overBudget = listed.flatMap(({ runs }) => runs).filter(({ body }) => body.error?.kind === "budget");
  if (world.options.scenario.budgets || world.options.scenario.tokens) counts["runs over budget"] = overBudget.length;
  counts.crashes = world.plan.crashes;
  counts.commits = world.store.commits;
  counts["model calls"] = calls.length;
  if (summaries.length > 0) counts.summaries = summaries.length;
  for (const line of listed.flatMap(({ lines }) => lines)) {
    const compaction = compactionIn(line);
    if (compaction) count(compaction);
  }
  if (callerAnswers.length > 0) {
    counts["http answers"] = callerAnswers.length;
    counts["http retries answered"] = callerAnswers.filter(({ marked }) => marked).length;
  }
  if (evidence.approvals.length > 0) for (const { state } of evidence.approvals) count(`approval ${state}`);
  counts["tool executions"] = executions.length;
  return counts;
}

/** Which kind of compaction a line of history records, if any. */
function compactionIn(line: string): string | undefined {
  const { type, hidden, details } = JSON.parse(line) as {
    type?: string;
    hidden?: boolean;
    details?: { kind: string; reason: string };
  };
  if (type === "custom_message" && hidden === true) return "flushes";
  return type === "compaction" && details ? `compaction ${details.kind} (${details.reason})` : undefined;
}
