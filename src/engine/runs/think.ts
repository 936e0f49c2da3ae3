/**
 * One turn of the model, with a rule for each class of error: wait as the provider says, back off, or return the error.
 * Streams deltas as events. Throws only `CommitRefused`, if a reservation could not be committed.
 */

import { errorText } from "../../core/errors.ts";
import { sleep } from "../../core/ports/clock.ts";
import type { ModelEvent, ModelMessage, ModelRequest, ModelResult } from "../../core/ports/model.ts";
import { askPermission, type ReachedBudget, settleCall } from "../budgets/budget-gate.ts";
import { setupOf } from "../context/measure-context.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { ABORT_GRACE_MS, graceAfter } from "../runtime/live-run.ts";
import { noAnswer, waitBefore } from "../runtime/model-call.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { cliSessionsIn } from "../runtime/usage.ts";

/** The answer, or the budget that did not allow the call. */
interface Thought extends ModelResult {
  readonly reached?: ReachedBudget;
}

export async function think(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  shape: (messages: readonly ModelMessage[]) => readonly ModelMessage[] = (messages) => messages,
): Promise<Thought> {
  const { choice, system, tools } = await setupOf(ports, lease, run);
  const history = await lease.messages();
  const messages = (await ports.showFiles?.(lease.agentId, history)) ?? history;
  const request: ModelRequest = {
    ...choice,
    system,
    // A copy: the context grows while the request must not change.
    messages: [...shape(messages)],
    tools,
    sessionId: lease.sessionId,
    cliSessionIds: cliSessionsIn(lease.state),
  };
  let streamed = false;
  for (let tries = 1; ; tries++) {
    const permission = await askPermission(ports, lease, run, request);
    if (permission.kind === "reached") return { ...noAnswer(request, "aborted", ""), reached: permission.reached };
    if (permission.kind === "ended") return noAnswer(request, "aborted", "aborted");
    const { permit } = permission;
    // The text of a call that failed is void.
    if (streamed) ports.events.emit(run.position, { type: "restart", attempt: run.attempt });
    streamed = false;
    const result = await call(ports, run, { ...request, tries, maxTokens: permit?.maxTokens }, () => {
      streamed = true;
    });
    ports.watchdog?.note(run, "answer");
    if (permit) settleCall(lease, permit, result);
    for (const usage of result.alsoUsed ?? []) run.countLost(usage);
    if (result.error) run.countLost(result.usage);
    const wait = result.error && waitBefore(result, tries);
    // A wait that is longer than the run may last is not begun: the run fails now.
    if (wait === undefined || wait > run.limits.timeoutMs) return result;
    ports.log.info("the model will be called again", { run: run.id, class: result.error?.class, tries, wait });
    // Settles the reservation, so that it does not block other calls during the wait.
    if (lease.owesCommit) await lease.commit({ site: "settle", ops: [], run: run.guard() });
    if ((await sleep(ports.clock, wait, run.signal)) === "aborted") {
      return { ...result, stopReason: "aborted", error: { class: "aborted", message: "aborted" } };
    }
  }
}

async function call(
  ports: RunPorts,
  run: LiveRun,
  request: ModelRequest,
  onStreamed: () => void,
): Promise<ModelResult> {
  const grace = graceAfter(ports.clock, ABORT_GRACE_MS, run.signal);
  let over = false;
  const { position } = run;
  const onEvent = (event: ModelEvent): void => {
    if (over) return;
    if (event.type === "restart") ports.events.emit(position, { type: "restart", attempt: run.attempt });
    else if (event.type === "text" || event.type === "thinking") {
      onStreamed();
      ports.events.emit(position, { type: "delta", stream: event.type, text: event.delta });
    }
  };
  run.state = "streaming";
  try {
    const result = await Promise.race([ports.model.call(request, run.signal, onEvent), grace.over]);
    return result ?? { ...noAnswer(request, "aborted", "The model ignored the abort signal."), unheard: true };
  } catch (error) {
    return { ...noAnswer(request, "transient", errorText(error)), unheard: true };
  } finally {
    over = true;
    grace.cancel();
    run.state = "active";
  }
}
