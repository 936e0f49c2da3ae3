/**
 * The memory flush: before its context is compacted, an agent gets one silent turn to write down what matters. Once per
 * compaction cycle, counted when it begins, so that a failed one is not repeated. It never blocks a compaction.
 */

import type { AgentKind } from "../../core/agent/descriptor.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { MemoryFlushSettings } from "../../core/history/compaction-settings.ts";
import type { RunId } from "../../core/ids.ts";
import type { Behalf } from "../../core/people/behalf.ts";
import type { RunBody } from "../../core/run/run.ts";
import { runBehalf } from "../people/run-behalf.ts";
import { writesWorkspace } from "../rights/configured-rules.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import { belongingOf } from "../runtime/belonging.ts";
import { LiveRun, runTimeOf } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { chain, type EntryDraft, wrapSystemMessage } from "./entries.ts";
import type { MeasuredContext } from "./measure-context.ts";

/** People wait for it at most this long. */
const FLUSH_SECONDS = 120;
const NO_REPLY = "NO_REPLY";
const NO_REPLY_HINT = `If nothing needs to be written down, respond with ${NO_REPLY}.`;

/** Notes of these kinds are not read again: their work ends with their report. */
const SHORT_LIVED: ReadonlySet<AgentKind> = new Set(["heartbeat", "cron", "subagent"]);

/** Whether the turn is due now. An agent without a tool that writes, or that may not write in its workspace, gets none. */
export function isFlushDue(
  ports: Pick<RunPorts, "tools" | "settings">,
  { record }: AgentLease,
  measured: MeasuredContext,
): boolean {
  const { limits, thresholds, tokens } = measured;
  const { state, descriptor } = record;
  if (!writesWorkspace(ports.settings.current, record)) return false;
  if (!limits.enabled || !limits.memoryFlush.enabled || SHORT_LIVED.has(descriptor.type)) return false;
  if (tokens < thresholds.flush || tokens >= thresholds.emergency) return false;
  if (state.memoryFlushCompactionCount === (state.compactionCount ?? 0)) return false;
  return ports.tools.list(record).some(({ rights }) => rights.includes("write"));
}

/** Opens the run, in one commit with the count. It has no delivery, so it answers no one. `dayLimits`: of the run before. */
export async function openFlush(
  ports: RunPorts,
  lease: AgentLease,
  runId: RunId,
  { prompt, systemPrompt }: MemoryFlushSettings,
  dayLimits: Behalf["limits"],
): Promise<LiveRun> {
  const at = ports.clock.now();
  const body: RunBody = {
    lane: lease.lane,
    node: lease.node,
    seqs: [],
    memoryFlush: true,
    behalf: { ...runBehalf(await belongingOf(ports, lease), []), limits: dayLimits },
    wishes: { extraSystemPrompt: systemPrompt, timeoutSeconds: FLUSH_SECONDS },
    calls: [],
    iterations: 0,
    deliveries: 0,
  };
  const text = wrapSystemMessage(prompt.includes(NO_REPLY) ? prompt : `${prompt}\n${NO_REPLY_HINT}`);
  const entry = {
    type: "custom_message",
    role: "user",
    content: [{ type: "text", text }],
    hidden: true,
    timestamp: at,
  };
  const state: AgentState = {
    ...lease.state,
    memoryFlushAt: at,
    memoryFlushCompactionCount: lease.state.compactionCount ?? 0,
    updatedAt: at,
  };
  const append = chain(ports.ids, lease, [entry as EntryDraft]);
  await lease.commit({ site: "flush", at, ops: [{ op: "run.open", runId, body }], append, state });
  lease.runId = runId;
  const { agentId, sessionId } = lease;
  const settings = ports.settings.current;
  const limits = runTimeOf(settings, lease.record, body.wishes);
  const run = new LiveRun(
    { id: runId, agentId, sessionId, startedAt: at, step: 1, attempt: 1, body },
    settings,
    limits,
  );
  ports.events.emit(run.position, { type: "start" });
  return run;
}
