/**
 * Executes the tool calls of one turn, batch by batch. The intent is committed before a call starts and its result with
 * everything it changes in the store, in one commit (L4, M12).
 */

import type { AgentRecord } from "../../core/agent/agent.ts";
import type { NewDelivery } from "../../core/delivery/delivery.ts";
import { SuspendedError } from "../../core/errors.ts";
import type { ToolOutput } from "../../core/ports/tool.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { workedFor } from "../budgets/spender.ts";
import { isOutdated } from "../commit/commit-refused.ts";
import { claimedFor } from "../commit/submit.ts";
import { chain, type ToolResult, toolEntry } from "../context/entries.ts";
import { createDeliveries } from "../outbox/create-deliveries.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { graceAfter } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { applySendPolicy, maySend, tellIfBlocked } from "./apply-send-policy.ts";
import { callTool, textOutput } from "./call-tool.ts";

/** Marks the calls that may start now: the next one, or all next ones that may run in parallel. */
export function intendNext(ports: RunPorts, agent: AgentRecord, calls: readonly CallRecord[]): CallRecord[] {
  if (calls.some((call) => call.state === "intended")) return [...calls];
  const parallel = (call: CallRecord): boolean => ports.tools.find(agent, call.name)?.parallel ?? true;
  const first = calls.findIndex((call) => call.state === "asked");
  if (first === -1) return [...calls];
  let end = first + 1;
  if (calls[first] && parallel(calls[first])) {
    while (calls[end]?.state === "asked" && parallel(calls[end] as CallRecord)) end += 1;
  }
  return calls.map((call, index) => (index >= first && index < end ? { ...call, state: "intended" } : call));
}

/** Executes every intended call and commits the results, with the intents of the next batch. False if the run must end. */
export async function act(ports: RunPorts, lease: AgentLease, run: LiveRun): Promise<boolean> {
  const batch = run.body.calls.filter((call) => call.state === "intended");
  const outputs = await executeAll(ports, lease.record, run, batch).catch((error) => suspend(run, error));
  if (!outputs) return false;
  try {
    await commitResults(ports, lease, run, batch, outputs);
  } catch (error) {
    if (!isOutdated(error) || !outputs.some((output) => output.ops?.length)) throw error;
    // A tool's ops name something that has changed: the model reads the refusal as the tool's result.
    const refused = outputs.map((output) => (output.ops?.length ? textOutput(error.message, true) : output));
    await commitResults(ports, lease, run, batch, refused);
  }
  return true;
}

/** The program stops while a call waits for another agent. The call is repeated after the restart: such calls are safe. */
function suspend(run: LiveRun, error: unknown): undefined {
  if (!(error instanceof SuspendedError)) throw error;
  run.end("drain");
}

/** All outputs; undefined if the run must end and the tools did not stop in time. */
async function executeAll(
  ports: RunPorts,
  agent: AgentRecord,
  run: LiveRun,
  batch: readonly CallRecord[],
): Promise<readonly ToolOutput[] | undefined> {
  const { position } = run;
  const execution = Promise.all(
    batch.map(async (call) => {
      ports.events.emit(position, { type: "tool_start", callId: call.callId, name: call.name });
      const context = {
        agent,
        agentId: run.agentId,
        runId: run.id,
        callId: call.callId,
        delivery: run.body.delivery,
        ...workedFor(agent, run.body),
        signal: run.toolSignal,
        progress: (text: string) => ports.events.emit(position, { type: "tool_update", callId: call.callId, text }),
      };
      const output = await callTool(ports.tools.find(agent, call.name), call, context, ports.files);
      const isError = output.isError ?? false;
      ports.events.emit(position, { type: "tool_end", callId: call.callId, name: call.name, isError });
      return output;
    }),
  );
  // A drain lets tools finish; only a real end has a limit.
  const grace = graceAfter(ports.clock, ports.settings.abortGraceMs, run.toolSignal);
  return Promise.race([execution, grace.over]).finally(grace.cancel);
}

export const resultOf = (call: CallRecord, output: ToolOutput): ToolResult => ({
  callId: call.callId,
  name: call.name,
  content: output.content,
  isError: output.isError ?? false,
});

async function commitResults(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  batch: readonly CallRecord[],
  outputs: readonly ToolOutput[],
): Promise<void> {
  const at = ports.clock.now();
  // By state and not by id: a model may use an id twice.
  const calls = run.body.calls.map(
    (call): CallRecord => (call.state === "intended" ? { ...call, state: "done" } : call),
  );
  const agent = lease.record;
  const { sendPolicy } = ports;
  const deliveries = applySendPolicy(sendPolicy, agent, owedByTools(ports, run, outputs, at));
  const sent = outputs
    .flatMap((output) => output.deliveries ?? [])
    .filter(({ target }) => maySend(sendPolicy, agent, target));
  const rest = calls.some((call) => call.state !== "done") ? intendNext(ports, agent, calls) : [];
  const body: RunBody = {
    ...run.body,
    calls: rest,
    deliveries: run.body.deliveries + deliveries.length,
    // Two parallel lists, from before the texts were split: each text and its target.
    sentTexts: [...(run.body.sentTexts ?? []), ...sent.map(({ payload }) => payload.text ?? "")],
    sentTargets: [...(run.body.sentTargets ?? []), ...sent.map(({ target }) => target)],
  };
  const entries = batch.map((call, index) =>
    toolEntry(resultOf(call, tellIfBlocked(sendPolicy, agent, outputs[index] ?? textOutput("", true))), at, run.id),
  );
  const asked = outputs.flatMap((output) => output.ops ?? []);
  const ops: Op[] = [...claimedFor(asked, lease.node)];
  for (const delivery of deliveries) ops.push({ op: "delivery.add", delivery });
  ops.push({ op: "run.step", runId: run.id, body });
  const append = chain(ports.ids, lease, entries);
  const { results } = await lease.commit({ site: "result", ops, append, run: run.guard() });
  run.stepped(body);
  ports.onDeliveries(deliveries, results);
  ports.posted(results.flatMap((result) => (result?.op === "message.post" ? [result] : [])));
  if (asked.length > 0) ports.onToolOps?.(asked);
  ports.events.emit(run.position, { type: "step" });
}

function owedByTools(
  ports: RunPorts,
  run: LiveRun,
  outputs: readonly ToolOutput[],
  at: number,
): readonly NewDelivery[] {
  const owed: NewDelivery[] = [];
  for (const { target, payload } of outputs.flatMap((output) => output.deliveries ?? [])) {
    const ordinal = run.body.deliveries + owed.length;
    const { agentId, id: runId } = run;
    owed.push(...createDeliveries({ agentId, runId, ordinal, at, target, connectors: ports.connectors }, payload));
  }
  return owed;
}
