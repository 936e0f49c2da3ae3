/**
 * Ends the record of a spawn: its outcome and its one report, as ops for the commit that ends the child's work. The record
 * is guarded, so that whoever comes second is refused and nobody reports twice (L6, M19).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunOutcome, SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { AgentId, RunId, SessionId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { isSilentReply } from "../outbox/create-deliveries.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { lastReply } from "./last-reply.ts";
import { reportTarget } from "./report-target.ts";
import { ANNOUNCE_SKIP, buildStatsLine, buildTriggerMessage, subagentFailureText } from "./report-text.ts";
import { stopOf } from "./tree.ts";

export type ReportPorts = Pick<Ports, "store" | "clock" | "files" | "log">;

export interface ReportSettings {
  /** Minutes of rest after which a child is put away; 0: never. */
  readonly archiveAfterMinutes: number;
  /** Where a child's history can be read, for the line of stats. */
  readonly transcriptOf?: (agentId: AgentId) => string;
}

/** How a child's work came to its end. */
export interface SubagentEnd {
  readonly outcome: SubagentRunOutcome;
  /** Why, where it failed: daycare's words. */
  readonly reason?: string;
  readonly reply?: string;
  readonly startedAt?: number;
  readonly usage?: Usage;
  readonly sessionId?: SessionId;
  /** Whom it worked for. */
  readonly person?: string;
}

/** Longer findings go to a file; the requester's context is not filled with them. */
const MAX_FINDINGS = 8_000;

/** What goes into the commit that ends a run of a child. Nothing where the run is none that a spawn waits for. */
export async function endOfRun(
  ports: ReportPorts,
  settings: ReportSettings,
  agent: AgentRecord,
  run: LiveRun,
  result: RunResult,
): Promise<readonly Op[]> {
  if (agent.descriptor.type !== "subagent") return [];
  const record = await ports.store.subagentRun(run.id);
  if (!record || record.endedAt !== undefined) return [];
  const { sessionId } = agent;
  const { usage, person } = run.body;
  const about = {
    startedAt: run.startedAt,
    sessionId,
    ...(usage ? { usage } : {}),
    ...(person === undefined ? {} : { person }),
  };
  if (result.outcome === "ok") {
    const reply = result.payloads[0]?.text;
    return runSubagentAnnounceFlow(ports, settings, record, agent, { ...about, outcome: { status: "ok" }, reply });
  }
  const reply = await lastReply(ports.store, agent.id);
  return runSubagentAnnounceFlow(ports, settings, record, agent, {
    ...about,
    ...(await failed(ports, agent, result)),
    reply,
  });
}

async function failed(
  { store }: ReportPorts,
  agent: AgentRecord,
  { outcome, meta }: RunResult,
): Promise<Pick<SubagentEnd, "outcome" | "reason">> {
  const error = meta.error?.message;
  switch (outcome) {
    case "timeout":
      return { outcome: { status: "timeout", ...(error ? { error } : {}) }, reason: "it timed out" };
    case "aborted": {
      // Read anew: what was known of the agent when its run began tells nothing of a stop that ended it.
      const now = await store.agent(agent.id);
      const stop = now && (await stopOf(store, now));
      const why = stop ? `it was stopped: ${stop.mark.reason}` : "it was aborted";
      return { outcome: { status: "error", error: why }, reason: why };
    }
    case "lost":
      return { outcome: { status: "unknown" }, reason: "it was lost" };
    default:
      return { outcome: { status: "error", ...(error ? { error } : {}) }, reason: "its run failed" };
  }
}

/** What goes into the commit that ends a child's first message without a run: aborted in the queue, discarded, stopped. */
export async function endWithoutRun(
  ports: ReportPorts,
  settings: ReportSettings,
  agent: AgentRecord,
  messages: readonly Message[],
  reason: string,
): Promise<readonly Op[]> {
  if (agent.descriptor.type !== "subagent") return [];
  const ops: Op[] = [];
  for (const { asRun } of messages) {
    const record = asRun && (await ports.store.subagentRun(asRun));
    if (!record || record.endedAt !== undefined) continue;
    const end: SubagentEnd = { outcome: { status: "error", error: reason }, reason: `it never began: ${reason}` };
    ops.push(...(await runSubagentAnnounceFlow(ports, settings, record, agent, end)));
  }
  return ops;
}

/** The report, and the record that says it was made: clawdbot's flow, as ops for the commit that ends the child's work. */
export async function runSubagentAnnounceFlow(
  ports: ReportPorts,
  settings: ReportSettings,
  record: SubagentRunRecord,
  child: Pick<AgentRecord, "id" | "descriptor"> | undefined,
  end: SubagentEnd,
): Promise<readonly Op[]> {
  const at = ports.clock.now();
  const target = await reportTarget(ports.store, record);
  const skip = end.outcome.status === "ok" && isSkipped(end.reply ?? "");
  const ended: SubagentRunRecord = {
    ...record,
    ...(end.startedAt === undefined ? {} : { startedAt: end.startedAt }),
    endedAt: at,
    outcome: end.outcome,
    cleanupHandled: true,
    // Told and settled in one commit; what is to be deleted is not done before it is gone, and then neither is its record.
    ...(record.cleanup === "keep" ? { cleanupCompletedAt: at } : {}),
    ...archiveAt(record, settings, at),
    ...("dropped" in target ? { reportDropped: target.dropped } : { reportedTo: target.agentId }),
  };
  const put: Op = { op: "subagent.put", record: ended, expect: "open" };
  if ("dropped" in target) {
    ports.log.warn("a report has nobody to go to", { run: record.runId, because: target.dropped });
    return [put];
  }
  const text = await reportOf(ports, settings, record, child, { ...end, endedAt: at });
  const body = {
    kind: "report",
    text,
    childId: (child?.id ?? record.childAgentId) as AgentId,
    childRunId: record.runId as RunId,
    ...(end.person === undefined ? {} : { person: end.person }),
    ...(skip || target.asleep ? { silent: true } : {}),
  } as const;
  const message = { body, acceptedAt: at, ...(target.delivery ? { delivery: target.delivery } : {}) };
  return [{ op: "message.post", to: { agentId: target.agentId }, message }, put];
}

/** Nothing to announce: said in clawdbot's word, or as any silent reply. */
const isSkipped = (reply: string): boolean => reply.trim() === ANNOUNCE_SKIP || isSilentReply(reply);

/** A child that is to be deleted is due at once; one that is kept, when it has rested long enough. */
function archiveAt(
  { cleanup }: SubagentRunRecord,
  { archiveAfterMinutes }: ReportSettings,
  at: number,
): Pick<SubagentRunRecord, "archiveAtMs"> {
  if (cleanup === "delete") return { archiveAtMs: at };
  return archiveAfterMinutes <= 0 ? {} : { archiveAtMs: at + Math.max(1, archiveAfterMinutes) * 60_000 };
}

async function reportOf(
  ports: ReportPorts,
  { transcriptOf }: ReportSettings,
  record: SubagentRunRecord,
  child: Pick<AgentRecord, "id" | "descriptor"> | undefined,
  end: SubagentEnd & { readonly endedAt: number },
): Promise<string> {
  const { outcome, reason, usage, sessionId, startedAt, endedAt } = end;
  const id = child?.id ?? (record.childAgentId as AgentId | undefined) ?? ("unknown" as AgentId);
  const name = child?.descriptor.type === "subagent" ? child.descriptor.name : (record.label ?? "subagent");
  const stats = buildStatsLine({
    ...(startedAt === undefined ? {} : { runtimeMs: endedAt - startedAt }),
    ...(usage ? { usage } : {}),
    sessionKey: record.childSessionKey,
    ...(sessionId ? { sessionId } : {}),
    ...(transcriptOf ? { transcript: transcriptOf(id) } : {}),
  });
  return buildTriggerMessage({
    label: record.label,
    task: record.task,
    outcome,
    ...(end.reply ? { reply: await bounded(ports, record.runId, end.reply) } : {}),
    ...(reason ? { failure: subagentFailureText({ name, id }, reason, errorBeside(reason, outcome)) } : {}),
    stats,
  });
}

/** The error in brackets, where the reason does not say the same already. */
const errorBeside = (reason: string, { error }: SubagentRunOutcome): string | undefined =>
  error === undefined || reason.includes(error) ? undefined : error;

async function bounded({ files, log }: ReportPorts, runId: string, reply: string): Promise<string> {
  if (reply.length <= MAX_FINDINGS) return reply;
  const shown = reply.slice(0, MAX_FINDINGS).toWellFormed();
  const cut = `${shown}\n\n(${MAX_FINDINGS} of ${reply.length} characters shown`;
  try {
    return `${cut}, all of it is in ${await files.write(`report-${runId}.txt`, reply)})`;
  } catch (error) {
    log.warn("the findings of a child could not be kept whole", { run: runId, error: String(error) });
    return `${cut}; the rest could not be kept)`;
  }
}
