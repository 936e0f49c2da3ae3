/**
 * Commits an answer of the model that has tool calls: its entry, and the intent to start the first of them, in one commit. Calls of
 * tools that the caller executes are kept apart: the run ends with them.
 */
import type { ModelResult } from "../../core/ports/model.ts";
import type { CallRecord, RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { assistantEntry, callEntry, chain } from "../context/entries.ts";
import type { AgentLease } from "../runtime/agent-lease.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import type { RunPorts } from "../runtime/run-ports.ts";
import { addUsage, stateAfterCall } from "../runtime/usage.ts";
import { textOutput } from "./call-tool.ts";
import { commitIntent } from "./intend.ts";
import { saidBeforeCalls } from "./reply-texts.ts";
import { uniqueCalls, usedCallIds } from "./unique-calls.ts";

const MALFORMED_TEXT =
  "Not executed: the arguments are not a complete JSON object. Make the call again with all of them.";
const CUT_OFF_TEXT = "Not executed: the answer was cut off at its length limit, so the arguments may be incomplete.";

export async function commitThought(
  ports: RunPorts,
  lease: AgentLease,
  run: LiveRun,
  result: ModelResult,
): Promise<void> {
  const at = ports.clock.now();
  const agent = lease.record;
  const cutOff = result.stopReason === "length";
  const content = uniqueCalls(result.content, await usedCallIds(ports, lease, run), lease.nextPos);
  const calls: CallRecord[] = [];
  const forCaller: NonNullable<RunBody["callerTurn"]>["calls"] = [];
  const isCallers = (name: string): boolean => run.body.wishes?.tools?.some((tool) => tool.name === name) ?? false;
  const entries = [assistantEntry({ ...result, content }, at, run.id)];
  for (const block of content) {
    if (block.type !== "toolCall") continue;
    const { id: callId, name, arguments: given, malformed } = block;
    const replay = ports.tools.find(agent, name)?.replay ?? "safe";
    const call = { callId, name, arguments: given, replay, state: "asked" } as const;
    const why = cutOff ? CUT_OFF_TEXT : malformed ? MALFORMED_TEXT : undefined;
    if (why === undefined && isCallers(name)) forCaller.push({ id: callId, name, arguments: given });
    else if (why === undefined) calls.push(call);
    else entries.push(callEntry(call, textOutput(why, true), at, run.id));
  }
  const deliveries = saidBeforeCalls(ports, agent, run, content, at);
  const bodyWith = (open: readonly CallRecord[]): RunBody => ({
    ...run.body,
    calls: [...open],
    callerTurn: forCaller.length > 0 ? { text: textOf(result), calls: forCaller } : undefined,
    iterations: run.body.iterations + 1,
    cutOffs: cutOff ? (run.body.cutOffs ?? 0) + 1 : undefined,
    usage: addUsage(run.body.usage, result.usage),
    deliveries: run.body.deliveries + deliveries.length,
  });
  const intent = await commitIntent(ports, lease, run, calls, (judged) => ({
    site: "think",
    ops: [
      ...judged.ops,
      ...deliveries.map((delivery): Op => ({ op: "delivery.add", delivery })),
      { op: "run.step", runId: run.id, body: bodyWith(judged.calls) },
    ],
    append: chain(ports.ids, lease, [...entries, ...judged.denials]),
    state: stateAfterCall(lease.state, run.setup, result),
    run: run.guard(),
  }));
  run.answered(bodyWith(intent.calls));
  ports.onDeliveries(deliveries, intent.results);
  ports.events.emit(run.position, { type: "step" });
}

const textOf = ({ content }: ModelResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
