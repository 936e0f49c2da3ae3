/**
 * Executes the tool calls of one turn, batch by batch. The intent is committed before a call starts and its result with
 * everything it changes in the store, in one commit (L4, M12).
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import { stateWithProcesses } from "../../core/agent/background-process.ts";
import { stateWithFound } from "../../core/agent/found-tools.ts";
import { cutText } from "../../core/cut-text.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import { errorText, SuspendedError } from "../../core/errors.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import { withLimits } from "../../core/rights/skill-limits.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { workedFor } from "../budgets/spender.ts";
import { isOutdated } from "../commit/commit-refused.ts";
import { claimedFor } from "../commit/submit.ts";
import { callEntry, chain } from "../context/entries.ts";
import { renewTools } from "../context/measure-context.ts";
import { createDeliveries } from "../outbox/create-deliveries.ts";
import { onBehalf } from "../people/on-behalf.ts";
import { withHeard, withSpeakers } from "../people/run-behalf.ts";
import { markedBody, markedState } from "../people/untrusted.ts";
import { auditOf } from "../rights/audit-entry.ts";
import { isHeadless } from "../rights/gate.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { ABORT_GRACE_MS, graceAfter } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { applySendPolicy, maySend, tellIfBlocked } from "./apply-send-policy.ts";
import { callTool, effectKey, textOutput } from "./call-tool.ts";
import { commitIntent } from "./intend.ts";

/** Of one report of a tool's progress. */
const MAX_PROGRESS = 10_000;

/**
 * Executes every intended call and commits the results, with the intents of the next batch. False if the run must end. A
 * suspended call never touches the others: their results are committed with the mark that it is asked again (L4).
 */
export async function act(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<boolean> {
  const batch = run.body.calls.filter((call) => call.state === "intended");
  const outcomes = await executeAll(ports, lease.record, run, batch);
  if (!outcomes) return false;
  const isSuspended = outcomes.includes(SUSPENDED);
  if (isSuspended) suspend(run, batch, outcomes);
  const done = batch.flatMap((call, index): Executed[] => {
    const output = outcomes[index];
    return output === undefined || output === SUSPENDED ? [] : [{ call, output }];
  });
  if (done.length > 0) await commitOrRefuse(ports, lease, run, done);
  return !isSuspended;
}

/** A call that has no outcome yet: it waits for something that outlives the process, and may be made again (`SuspendedError`). */
const SUSPENDED = "suspended";

interface Executed {
  readonly call: CallRecord;
  readonly output: ToolOutput;
}

/** Suspended calls are asked again when the run resumes. Until then the run is paused. */
function suspend(
  run: LiveRun,
  batch: readonly CallRecord[],
  outcomes: readonly (ToolOutput | typeof SUSPENDED)[],
): void {
  const suspended = new Set(batch.filter((_, index) => outcomes[index] === SUSPENDED));
  const calls = run.body.calls.map((call): CallRecord => (suspended.has(call) ? { ...call, state: "asked" } : call));
  for (const { callId } of suspended) run.started.delete(callId);
  run.body = { ...run.body, calls };
  run.end("drain");
}

async function commitOrRefuse(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  done: readonly Executed[],
): Promise<void> {
  try {
    await commitResults(ports, lease, run, done);
  } catch (error) {
    if (!isOutdated(error) || !done.some(({ output }) => output.ops?.length)) throw error;
    // A tool's ops name something that has changed: the model reads the refusal as the tool's result.
    const refused = textOutput(error.message, true);
    const answered = done.map(({ call, output }) => ({ call, output: output.ops?.length ? refused : output }));
    await commitResults(ports, lease, run, answered);
  }
}

/**
 * The outcome of every call, when all of them have settled: a call that fails or is suspended does not abandon the others.
 * Undefined if the run must end and the tools did not stop in time.
 */
async function executeAll(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  batch: readonly CallRecord[],
): Promise<readonly (ToolOutput | typeof SUSPENDED)[] | undefined> {
  const execution = Promise.all(batch.map((call) => execute(ports, agent, run, call)));
  // A drain lets tools finish; only a real end has a limit.
  const grace = graceAfter(ports.clock, ABORT_GRACE_MS, run.toolSignal);
  return Promise.race([execution, grace.over]).finally(grace.cancel);
}

/** Never rejects. */
async function execute(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  call: CallRecord,
): Promise<ToolOutput | typeof SUSPENDED> {
  const { position } = run;
  const { callId, name } = call;
  run.started.add(callId);
  ports.events.emit(position, { type: "tool_start", callId, name });
  const context = {
    agent,
    agentId: run.agentId,
    runId: run.id,
    callId,
    effectKey: effectKey({ agentId: run.agentId, runId: run.id, callId }),
    delivery: run.body.delivery,
    ...workedFor(agent, run.body),
    behalf: run.body.behalf,
    headless: isHeadless(agent, run.body),
    allowed: run.allowed.get(callId)?.effects,
    signal: run.toolSignal,
    progress: (said: string) => {
      ports.events.emit(position, { type: "tool_update", callId, text: cutText(said, MAX_PROGRESS) });
    },
  };
  const toolEnded = ports.watchdog?.tool(run, name);
  try {
    const { toolResultCharacters } = run.settings.limits;
    const output = await callTool(ports.tools.find(agent, name), call, context, ports.files, toolResultCharacters);
    ports.events.emit(position, { type: "tool_end", callId, name, isError: output.isError ?? false });
    return output;
  } catch (error) {
    return error instanceof SuspendedError ? SUSPENDED : textOutput(errorText(error), true);
  } finally {
    toolEnded?.();
    ports.watchdog?.note(run, `result of ${name}`);
  }
}

async function commitResults(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  done: readonly Executed[],
): Promise<void> {
  const at = ports.clock.now();
  const outputs = done.map(({ output }) => output);
  const calls = run.body.calls.map(
    (call): CallRecord => (call.state === "intended" ? { ...call, state: "done" } : call),
  );
  const agent = lease.record;
  const { sendPolicy } = ports.settings.current.session;
  const said = owedByTools(ports, run, agent, outputs, at);
  const shown = progressOf(ports, lease, run, done, { at, ordinal: run.body.deliveries + said.length });
  const deliveries = applySendPolicy(sendPolicy, agent, [...said, ...shown]);
  const sent = outputs
    .flatMap((output) => output.deliveries ?? [])
    .filter(({ target }) => maySend(sendPolicy, agent, target));
  // Of a run that is about to pause no call is marked as started: it would count as executed (L4).
  const open = run.signal.aborted && calls.some(({ state }) => state !== "done") ? calls : undefined;
  const entries = done.map(({ call, output }) => callEntry(call, tellIfBlocked(sendPolicy, agent, output), at, run.id));
  const asked = outputs.flatMap((output) => output.ops ?? []);
  const heard = outputs.flatMap((output) => output.heard ?? []);
  const behalf = withHeard(run.body.behalf, heard);
  const spoken = withSpeakers(
    agent.person,
    lease.state,
    heard.map((one) => ({ behalf: one })),
  );
  // The other calls of this answer were made before the model read it.
  const isMarked = outputs.some(({ untrusted }) => untrusted !== undefined);
  const marked = markedState(spoken ?? lease.state, isMarked) ?? spoken;
  const found = stateWithFound(
    marked ?? lease.state,
    outputs.flatMap((output) => output.found ?? []),
  );
  const processes = stateWithProcesses(
    found ?? marked ?? lease.state,
    outputs.flatMap((output) => output.processes ?? []),
  );
  const state = processes ?? found ?? marked;
  const limits = withLimits(
    run.body.skillLimits,
    outputs.flatMap(({ narrows }) => narrows ?? []),
  );
  const bodyWith = (left: readonly CallRecord[]): RunBody => ({
    ...markedBody({ ...run.body, behalf }, isMarked),
    skillLimits: limits && [...limits],
    calls: [...left],
    deliveries: run.body.deliveries + deliveries.length,
    // Two parallel lists, from before the texts were split: each text and its target.
    sentTexts: [...(run.body.sentTexts ?? []), ...sent.map(({ payload }) => payload.text ?? "")],
    sentTargets: [...(run.body.sentTargets ?? []), ...sent.map(({ target }) => target)],
  });
  const { results, calls: left } = await commitIntent(ports, lease, run, open ? [] : calls, (intent) => ({
    site: "result",
    ops: [
      ...claimedFor(onBehalf({ agent, behalf }, asked), lease.node),
      ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
      ...auditDone(ports, agent, run, done, at),
      ...intent.ops,
      { op: "run.step", runId: run.id, body: bodyWith(open ?? intent.calls) },
    ],
    append: chain(ports.ids, lease, [...entries, ...intent.denials]),
    state,
    run: run.guard(),
  }));
  run.stepped(bodyWith(open ?? left));
  if (found) renewTools(ports, lease, run);
  ports.onDeliveries(deliveries, results);
  ports.posted(results.flatMap((result) => (result?.op === "message.post" ? [result] : [])));
  if (asked.length > 0) ports.onToolOps?.(asked);
  ports.events.emit(run.position, { type: "step" });
}

/** The rows of the audit log for calls that did more than read. */
function auditDone(
  { gate }: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  done: readonly Executed[],
  at: number,
): readonly Op[] {
  if (!gate) return [];
  return done.flatMap(({ call, output }): Op[] => {
    const judged = run.allowed.get(call.callId);
    if (!judged?.acts) return [];
    return [{ op: "audit.add", entry: auditOf(agent, run, judged, at, output.isError ? "error" : "ok") }];
  });
}

/** Of one call that is shown to the person. */
const MAX_SHOWN_CALL = 300;
const MAX_SHOWN_RESULT = 1_500;

/** What `verboseLevel` shows of calls: `on` the call, `full` its result too. Only for runs that answer a person. */
function progressOf(
  ports: RunPorts,
  { state, record }: AgentLease,
  run: LiveRun,
  done: readonly Executed[],
  { at, ordinal }: { readonly at: number; readonly ordinal: number },
): readonly NewDelivery[] {
  const { delivery: target, trigger, behalf } = run.body;
  const level = state.verboseLevel;
  if (!target || trigger || (level !== "on" && level !== "full")) return [];
  const lines = done.map(({ call, output }) => {
    const asked = `🛠️ ${call.name} ${cutText(JSON.stringify(call.arguments), MAX_SHOWN_CALL)}`;
    const result = output.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return level === "full" ? `${asked}\n${cutText(result, MAX_SHOWN_RESULT)}` : asked;
  });
  const { agentId, id: runId } = run;
  const draft = {
    agentId,
    profile: record.profile,
    runId,
    ordinal,
    at,
    target,
    person: behalf?.person,
    connectors: ports.connectors,
  };
  return createDeliveries(draft, { text: lines.join("\n") });
}

function owedByTools(
  ports: RunPorts,
  run: LiveRun,
  { profile }: AgentRecord,
  outputs: readonly ToolOutput[],
  at: number,
): readonly NewDelivery[] {
  const owed: NewDelivery[] = [];
  for (const { target, payload } of outputs.flatMap((output) => output.deliveries ?? [])) {
    const ordinal = run.body.deliveries + owed.length;
    const { agentId, id: runId } = run;
    const person = run.body.behalf?.person;
    const draft = { agentId, profile, runId, ordinal, at, target, person, connectors: ports.connectors };
    owed.push(...createDeliveries(draft, payload));
  }
  return owed;
}
