/**
 * The loop: think, act, think again, until the agent rests. Every step is one commit, and after a crash the run continues
 * from the last one. Each phase has a file of its name.
 */

import { errorText } from "../../core/errors.ts";
import type { ModelError, ModelResult } from "../../core/ports/model.ts";
import type { CompactResult } from "../../core/run/compact-result.ts";
import type { CallRecord, RunBody, RunError } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import type { ReachedBudget } from "../budgets/budget-gate.ts";
import { afterRefusal, CommitRefused } from "../commit/commit-refused.ts";
import { alternateRoles, isRoleOrderError } from "../context/alternate-roles.ts";
import type { BackgroundCompaction } from "../context/compaction/background-compaction.ts";
import { COMPACTION_FAILED_TEXT, compactAsAsked } from "../context/compaction/compact-on-request.ts";
import { ensureContextFits, type Room, recoverFromOverflow } from "../context/compaction/fit-context.ts";
import { assistantEntry } from "../context/entries.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun, RunExit } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { addUsage, stateAfterCall } from "../runtime/usage.ts";
import { act } from "./act.ts";
import { commitThought } from "./commit-thought.ts";
import { type Ending, finish } from "./finish.ts";
import { replyTexts } from "./reply-texts.ts";
import { suspend } from "./suspend.ts";
import { think } from "./think.ts";

const TOOL_LIMIT_TEXT = "Tool execution limit reached.";
const OVERFLOW_TEXT =
  "Context overflow: prompt too large for the model. Try again with less input or a larger-context model.";
const ROLE_ORDER_TEXT =
  "The model refused the order of the messages; begin a new session with /new, or try another model.";
const CUT_OFF_AGAIN_TEXT =
  "The model's answers were cut off at their length limit three times in a row. Ask for less at once, or raise the model's maxTokens.";
/** A model that is cut off this often in a row would be cut off again, and each answer is paid for. */
const MAX_CUT_OFFS = 3;

/** What a run needs from its actor. */
interface Surroundings {
  /** Called between two steps: takes steered messages into the run. */
  readonly between?: (run: LiveRun) => Promise<void>;
  /** The agent's summary in the background, if there is one. */
  readonly background?: BackgroundCompaction;
}

/**
 * Works on a run until it ends, is paused or is suspended. Throws `CommitRefused` if this node may no longer hold the agent; the caller
 * then drops the lease and reads the agent again.
 */
export async function runLoop(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  around: Surroundings = {},
): Promise<RunExit> {
  const timer = ports.clock.after(run.limits.timeoutMs, () => run.end("timeout"));
  try {
    return await withAbortHandling(ports, lease, run, () => steps(ports, lease, run, around));
  } finally {
    timer();
  }
}

/** Ends a run that cannot be resumed, with an error, unless an abort mark ends it first. */
export const failRun = (ports: RunPorts, lease: AgentLease, run: LiveRun, error: RunError): Promise<RunExit> =>
  withAbortHandling(ports, lease, run, () => failed(ports, lease, run, error));

/** A mark that came between two steps refuses the next commit: the run ends as the mark says (M9). */
async function withAbortHandling(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  work: () => Promise<RunExit>,
): Promise<RunExit> {
  try {
    return await work();
  } catch (error) {
    if (afterRefusal(error) !== "stop") throw error;
    run.end((error as CommitRefused).refused === "stopped" ? "stop" : "person");
    return await endAsAsked(ports, lease, run);
  }
}

async function steps(ports: RunPorts, lease: AgentLease, run: LiveRun, around: Surroundings): Promise<RunExit> {
  const { between, background } = around;
  for (;;) {
    // Between steps: an abort, a timeout or a drain takes effect here.
    if (run.signal.aborted) return endAsAsked(ports, lease, run);
    ports.watchdog?.note(run, "context");

    // A run that was opened to compact only compacts.
    if (run.body.compact) {
      const compaction = await compactAsAsked(ports, lease, run, background);
      return compaction ? compacted(ports, lease, run, compaction) : endAsAsked(ports, lease, run);
    }

    // Act: the calls of the last turn, also those that a crash interrupted.
    if (run.openCalls.length > 0) {
      // Only calls that wait for a person are left.
      if (run.openCalls.every(({ state }) => state === "asked")) {
        if (await suspend(ports, lease, run)) return { kind: "suspended" };
        continue;
      }
      if (!(await act(ports, lease, run))) return endAsAsked(ports, lease, run);
      continue;
    }

    // The caller executes the other calls of this turn.
    if (run.body.callerTurn) return handOver(ports, lease, run, run.body.callerTurn);

    // Steered messages enter here, before the next model call.
    if (run.body.iterations > 0) await between?.(run);
    if (run.signal.aborted) continue;

    // Think.
    if (run.body.iterations >= run.limits.maxIterations) {
      return failed(ports, lease, run, { kind: "tool_limit", message: TOOL_LIMIT_TEXT });
    }
    if ((run.body.cutOffs ?? 0) >= MAX_CUT_OFFS) {
      return failed(ports, lease, run, { kind: "tool_limit", message: CUT_OFF_AGAIN_TEXT });
    }
    const room = await ensureContextFits(ports, lease, run, background);
    if (run.signal.aborted) continue;
    if (!room.fits) return failed(ports, lease, run, tooLarge(room));
    let result = await think(ports, lease, run);
    // A context refused for the order of its roles is sent once more in the strictest form.
    if (result.error && isRoleOrderError(result.error)) result = await think(ports, lease, run, alternateRoles);
    if (run.signal.aborted) return endAsAsked(ports, lease, run, result);
    if (result.reached) return overBudget(ports, lease, run, result.reached);
    // A context refused as too large is made smaller and sent once more.
    if (result.error?.class === "overflow") {
      const made = await recoverFromOverflow(ports, lease, run, background);
      if (made.fits) continue;
      return failed(ports, lease, run, tooLarge(made), result);
    }
    if (result.error) return failed(ports, lease, run, explain(result.error), result);
    if (result.content.some((block) => block.type === "toolCall")) {
      await commitThought(ports, lease, run, result);
      continue;
    }

    // Rest.
    return rest(ports, lease, run, result);
  }
}

async function rest(ports: RunPorts, lease: AgentLease, run: LiveRun, result: ModelResult): Promise<RunExit> {
  run.body = {
    ...run.body,
    iterations: run.body.iterations + 1,
    usage: addUsage(run.body.usage, result.usage),
  };
  const [text = "", ...more] = replyTexts(result.content, run.settings.runs);
  return ended(ports, lease, run, {
    site: "rest",
    outcome: "ok",
    entries: [assistantEntry(result, ports.clock.now(), run.id)],
    state: stateAfterCall(lease.state, run.setup, result),
    payload: { text },
    more,
    isShortened: run.settings.runs.enforceFinalTag,
    reasoning: result.content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : [])).join("\n"),
    stopReason: result.stopReason,
  });
}

/** Ends a run whose next step is its caller's: the calls are in the result, and a later message brings what they return. */
function handOver(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  { text, calls }: NonNullable<RunBody["callerTurn"]>,
): Promise<RunExit> {
  const payload = { text };
  return ended(ports, lease, run, {
    ...{ site: "rest.caller", outcome: "ok", entries: [], payload, answer: payload },
    ...{ callerCalls: calls, stopReason: "tool_calls" },
  });
}

/** Ends a run that was opened to compact. */
function compacted(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  { result, text }: { readonly result: CompactResult; readonly text: string },
): Promise<RunExit> {
  const common = { site: "end.compact", entries: [], compaction: result } as const;
  if (result.ok) return ended(ports, lease, run, { ...common, outcome: "ok", payload: { text } });
  const error = { kind: "compaction_failure", message: text } as const;
  return ended(ports, lease, run, { ...common, outcome: "error", payload: { text, isError: true }, error });
}

/** Ends a run that was asked to end. What the model had said is kept and marked. A drain only pauses the run. */
async function endAsAsked(ports: RunPorts, lease: AgentLease, run: LiveRun, partial?: ModelResult): Promise<RunExit> {
  if (run.endReason === "lost") throw new CommitRefused("fenced", `The agent ${run.agentId} is no longer held here.`);
  if (run.endReason === "drain") {
    // An intended call that has not started is asked again. One that has started keeps its intent (L4).
    const calls = run.body.calls.map(
      (call): CallRecord =>
        call.state === "intended" && !run.started.has(call.callId) ? { ...call, state: "asked" } : call,
    );
    const body: RunBody = { ...run.body, calls, paused: true, trial: run.trial };
    const step = { op: "run.step", runId: run.id, body, attempt: run.attempt } as const;
    await lease.commit({ site: "pause", ops: [step], run: run.guard() });
    return { kind: "paused" };
  }
  // The calls of an unfinished answer never start.
  const content = partial?.content.filter((block) => block.type !== "toolCall") ?? [];
  const said = partial && content.length > 0;
  const entries = said
    ? [assistantEntry({ ...partial, content, stopReason: "aborted" }, ports.clock.now(), run.id)]
    : [];
  if (run.endReason === "timeout") {
    const seconds = Math.round(run.limits.timeoutMs / 1000);
    const message = `The run took longer than ${seconds} seconds and was ended.`;
    const payload = { text: message, isError: true };
    return ended(ports, lease, run, {
      site: "end.timeout",
      outcome: "timeout",
      entries,
      payload,
      error: { kind: "timeout", message },
    });
  }
  return ended(ports, lease, run, { site: "end.aborted", outcome: "aborted", entries, stopReason: "aborted" });
}

/** Ends a run whose next call a budget does not allow. Each agent announces that once, until the budget is lifted (L8). */
async function overBudget(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  { key, text, announced }: ReachedBudget,
): Promise<RunExit> {
  // A run without a delivery announces nothing; the next run with one does.
  const also: readonly Op[] = !announced && run.body.delivery ? [{ op: "budget.told", key }] : [];
  return failed(ports, lease, run, { kind: "budget", message: text }, undefined, { quiet: announced, also });
}

/** Ends a run that cannot continue, with an error text as its answer. */
async function failed(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  error: RunError,
  result?: ModelResult,
  { quiet = false, also = [] }: { readonly quiet?: boolean; readonly also?: readonly Op[] } = {},
): Promise<RunExit> {
  const content = result?.content.filter((block) => block.type !== "toolCall") ?? [];
  const said = result && content.length > 0;
  const entries = said ? [assistantEntry({ ...result, content, stopReason: "error" }, ports.clock.now(), run.id)] : [];
  return ended(ports, lease, run, {
    site: "end.failed",
    outcome: "error",
    entries,
    payload: quiet ? undefined : { text: error.message, isError: true },
    also,
    error,
    stopReason: "error",
  });
}

async function ended(ports: RunPorts, lease: AgentLease, run: LiveRun, ending: Ending): Promise<RunExit> {
  const result = await finish(ports, lease, run, ending);
  if (ending.error) ports.events.emit(run.position, { type: "error", message: ending.error.message });
  ports.events.emit(run.position, { type: "end", result });
  return { kind: "ended", result };
}

const tooLarge = ({ kind, reason, says }: Extract<Room, { fits: false }>): RunError => ({
  kind,
  message:
    says ?? (kind === "context_overflow" ? OVERFLOW_TEXT : `${OVERFLOW_TEXT} ${COMPACTION_FAILED_TEXT}: ${reason}`),
});

function explain(error: ModelError): RunError {
  if (isRoleOrderError(error)) return { kind: "role_ordering", message: `${ROLE_ORDER_TEXT} ${error.message}` };
  const retryable = error.class === "request" || error.class === "auth" ? false : undefined;
  return { kind: "model", message: `Inference failed. ${errorText(error.message)}`, retryable };
}
