/**
 * Ends the record of a spawn: its outcome and its one report, as ops for the commit that ends the child's work. The op is
 * refused if the record has ended already, so a child never reports twice (L6, M19).
 */
import type { Settings } from "../../config/settings.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunOutcome, SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { Current } from "../../core/current.ts";
import type { Usage } from "../../core/history/entry.ts";
import type { AgentId, RunId, SessionId } from "../../core/ids.ts";
import type { Message } from "../../core/message/message.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { RunResult } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { isSilentReply } from "../outbox/create-deliveries.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { lastReply } from "./last-reply.ts";
import { type ReportPeople, reportTarget } from "./report-target.ts";
import { ANNOUNCE_SKIP, buildStatsLine, buildTriggerMessage, subagentFailureText } from "./report-text.ts";
import { stopOf } from "./tree.ts";

export interface ReportPorts extends Pick<Ports, "store" | "clock" | "files" | "log"> {
  readonly settings: Current<Pick<Settings, "subagents">>;
  readonly people: ReportPeople;
  /** The path of a child's history, for the line of stats. */
  readonly transcriptOf?: (agentId: AgentId) => string;
}

/** How a child's work ended. */
export interface SubagentEnd {
  readonly outcome: SubagentRunOutcome;
  /** Why it failed, in daycare's words. */
  readonly reason?: string;
  readonly reply?: string;
  readonly startedAt?: number;
  readonly usage?: Usage;
  readonly sessionId?: SessionId;
  /** The person it worked for. */
  readonly person?: string;
}

/** Longer findings go to a file, so that they do not fill the requester's context. */
const MAX_FINDINGS = 8_000;

/** Ops for the commit that ends a run of a child. Empty if no spawn waits for the run. */
export async function endOfRun(
  ports: ReportPorts,
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
    usage,
    person,
  };
  if (result.outcome === "ok") {
    const reply = result.payloads[0]?.text;
    return runSubagentAnnounceFlow(ports, record, agent, { ...about, outcome: { status: "ok" }, reply });
  }
  const reply = await lastReply(ports.store, agent.id);
  return runSubagentAnnounceFlow(ports, record, agent, {
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
      return { outcome: { status: "timeout", error: error || undefined }, reason: "it timed out" };
    case "aborted": {
      // Read again: the record from the run's start does not show the stop that ended it.
      const now = await store.agent(agent.id);
      const stop = now && (await stopOf(store, now));
      const why = stop ? `it was stopped: ${stop.mark.reason}` : "it was aborted";
      return { outcome: { status: "error", error: why }, reason: why };
    }
    case "lost":
      return { outcome: { status: "unknown" }, reason: "it was lost" };
    default:
      return { outcome: { status: "error", error: error || undefined }, reason: "its run failed" };
  }
}

/** Ops for the commit that ends a child's first message without a run: aborted in the queue, discarded, stopped. */
export async function endWithoutRun(
  ports: ReportPorts,
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
    ops.push(...(await runSubagentAnnounceFlow(ports, record, agent, end)));
  }
  return ops;
}

/** The report and the ended record, as ops for one commit. Clawdbot's flow. */
export async function runSubagentAnnounceFlow(
  ports: ReportPorts,
  record: SubagentRunRecord,
  child: Pick<AgentRecord, "id" | "descriptor"> | undefined,
  end: SubagentEnd,
): Promise<readonly Op[]> {
  const at = ports.clock.now();
  const target = await reportTarget(ports, record);
  const skip = end.outcome.status === "ok" && isSkipped(end.reply ?? "");
  const ended: SubagentRunRecord = {
    ...record,
    startedAt: end.startedAt ?? record.startedAt,
    endedAt: at,
    outcome: end.outcome,
    cleanupHandled: true,
    // A child with `cleanup: delete` is complete when it is removed, and its record with it.
    cleanupCompletedAt: record.cleanup === "keep" ? at : record.cleanupCompletedAt,
    archiveAtMs: archiveAt(record, ports.settings.current.subagents, at) ?? record.archiveAtMs,
    ...("dropped" in target ? { reportDropped: target.dropped } : { reportedTo: target.agentId }),
  };
  const put: Op = { op: "subagent.put", record: ended, expect: "open" };
  if ("dropped" in target) {
    ports.log.warn("a report has no recipient", { run: record.runId, because: target.dropped });
    return [put];
  }
  const text = await reportOf(ports, record, child, { ...end, endedAt: at });
  const body = {
    kind: "report",
    text,
    childId: (child?.id ?? record.childAgentId) as AgentId,
    childRunId: record.runId as RunId,
    person: end.person,
    silent: skip || target.asleep ? true : undefined,
  } as const;
  const message = { body, behalf: record.behalf, acceptedAt: at, delivery: target.delivery };
  return [{ op: "message.post", to: { agentId: target.agentId }, message }, put];
}

/** Nothing to announce: clawdbot's word, or a silent reply. */
const isSkipped = (reply: string): boolean => reply.trim() === ANNOUNCE_SKIP || isSilentReply(reply);

/** When the record is due: at once with `cleanup: delete`, otherwise after the rest. Undefined: never. */
function archiveAt(
  { cleanup }: SubagentRunRecord,
  { archiveAfterMinutes }: Settings["subagents"],
  at: number,
): number | undefined {
  if (cleanup === "delete") return at;
  return archiveAfterMinutes <= 0 ? undefined : at + Math.max(1, archiveAfterMinutes) * 60_000;
}

async function reportOf(
  ports: ReportPorts,
  record: SubagentRunRecord,
  child: Pick<AgentRecord, "id" | "descriptor"> | undefined,
  end: SubagentEnd & { readonly endedAt: number },
): Promise<string> {
  const { outcome, reason, usage, sessionId, startedAt, endedAt } = end;
  const id = child?.id ?? (record.childAgentId as AgentId | undefined) ?? ("unknown" as AgentId);
  const name = child?.descriptor.type === "subagent" ? child.descriptor.name : (record.label ?? "subagent");
  const stats = buildStatsLine({
    runtimeMs: startedAt === undefined ? undefined : endedAt - startedAt,
    usage,
    sessionKey: record.childSessionKey,
    sessionId,
    transcript: ports.transcriptOf?.(id),
  });
  return buildTriggerMessage({
    label: record.label,
    task: record.task,
    outcome,
    reply: end.reply && (await bounded(ports, record.runId, end.reply)),
    failure: reason && subagentFailureText({ name, id }, reason, errorBeside(reason, outcome)),
    stats,
  });
}

/** The error for the brackets, unless the reason contains it. */
const errorBeside = (reason: string, { error }: SubagentRunOutcome): string | undefined =>
  error === undefined || reason.includes(error) ? undefined : error;

async function bounded({ files, log }: ReportPorts, runId: string, reply: string): Promise<string> {
  if (reply.length <= MAX_FINDINGS) return reply;
  const shown = reply.slice(0, MAX_FINDINGS).toWellFormed();
  const cut = `${shown}\n\n(${MAX_FINDINGS} of ${reply.length} characters shown`;
  try {
    return `${cut}, all of it is in ${await files.write(`report-${runId}.txt`, reply)})`;
  } catch (error) {
    log.warn("the full findings of a child could not be stored", { run: runId, error: String(error) });
    return `${cut}; the rest could not be stored)`;
  }
}
