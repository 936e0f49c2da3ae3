/**
 * Empties the inbox of an agent that was stopped, or whose ancestor was (M20). Waiting messages are settled with a trace,
 * reports are kept in history, and no message waits for a run that may not begin. A person's next message starts the
 * agent again; a subagent never starts again.
 */
import type { AgentRecord, StopMark } from "../../../core/agent/agent.ts";
import type { Message } from "../../../core/message/message.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { type Stop, stopOf } from "../../subagents/tree.ts";
import { recordSilent, settle, settlement } from "./inbox-steps.ts";

const PORTION = 256;

/**
 * The result of one step. `free`: no stop holds for the agent; its record in memory may be old. `quiet`: no message is left
 * that needs a run. `removing`: only the stop messages of a removal are left. `settled`: these messages; there may be more.
 */
type StopResult =
  | { readonly is: "free" }
  | { readonly is: "quiet" }
  | { readonly is: "removing"; readonly reason: string; readonly stops: readonly Message[] }
  | { readonly is: "settled"; readonly messages: readonly Message[] };

export async function drainStoppedInbox(ports: RunPorts, lease: AgentLease): Promise<StopResult> {
  const record = await ports.store.agent(lease.agentId);
  const stop = record && (await stopOf(ports.store, record));
  if (!stop) return { is: "free" };
  const waiting = await ports.store.waiting(lease.agentId, { limit: PORTION });
  if (stop.mark.removing && stop.agentId === lease.agentId) return settleForRemoval(ports, lease, stop.mark, waiting);
  const needRun = waiting.filter(({ body, tried }) => NEED_A_RUN.has(body.kind) || tried !== undefined);
  const before = needRun.filter(({ seq }) => seq < (stop.mark.seq ?? 0));
  if (startsAgain(record, stop, needRun)) {
    if (before.length > 0) return settleStopped(ports, lease, stop, before);
    const { seq } = stop.mark;
    const start = { op: "agent.stop", agentId: lease.agentId, mark: null } as const;
    await lease.commit({ site: "start-again", ops: [{ ...start, ifSeq: seq }] });
    return { is: "free" };
  }
  return needRun.length === 0 ? { is: "quiet" } : settleStopped(ports, lease, stop, needRun);
}

/** Before a removal every message is settled as removed, commands too. The stops come last: they keep the agent awake. */
async function settleForRemoval(
  ports: RunPorts,
  lease: AgentLease,
  { reason }: StopMark,
  waiting: readonly Message[],
): Promise<StopResult> {
  const others = waiting.filter(({ body }) => body.kind !== "stop");
  if (others.length === 0) return { is: "removing", reason, stops: waiting };
  await settle(ports, lease, "wind-up", others, "removed", `the agent was ${reason}`);
  return { is: "settled", messages: others };
}

/** The last commit of an agent: settles the stops and removes it. Its history stays. */
export async function removeForGood(lease: AgentLease, stops: readonly Message[], reason: string): Promise<void> {
  const { agentId } = lease;
  await lease.commit({
    site: "remove",
    ops: [
      { op: "message.settle", settlements: stops.map((message) => settlement(message, "recorded", reason)) },
      { op: "agent.remove", agentId, reason, keep: true },
    ],
  });
  lease.released = true;
}

/** Other kinds are commands to the engine, which a stop affects only if they keep failing (M48). */
const NEED_A_RUN: ReadonlySet<Message["body"]["kind"]> = new Set([
  "user",
  "system",
  "trigger",
  "report",
  "compact",
  "permission",
]);

/** Whether a person has written since the stop to an agent that may start again. Only a subagent has ancestors. */
function startsAgain(record: AgentRecord, { mark }: Stop, waiting: readonly Message[]): boolean {
  if (record.descriptor.type === "subagent" || mark.removed) return false;
  return waiting.some(({ seq, body }) => body.kind === "user" && seq >= (mark.seq ?? 0));
}

async function settleStopped(
  ports: RunPorts,
  lease: AgentLease,
  { agentId, mark }: Stop,
  messages: readonly Message[],
): Promise<StopResult> {
  const reason = `${agentId === lease.agentId ? "the agent" : "the agent that started it"} was stopped: ${mark.reason}`;
  const kept = messages.filter(({ body }) => body.kind === "report" || (body.kind === "system" && body.silent));
  if (kept.length > 0) {
    await recordSilent(ports, lease, kept, reason);
    return { is: "settled", messages: kept };
  }
  await settle(ports, lease, "wind-down", messages, "aborted", reason);
  return { is: "settled", messages };
}
