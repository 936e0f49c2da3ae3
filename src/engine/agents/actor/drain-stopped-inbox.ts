/**
 * What becomes of the inbox of an agent that was stopped, itself or from above (M20). What waits is settled with its trace,
 * reports are kept in history, and nobody waits for a run that may not begin. A person's next message starts the agent
 * again; a subagent never starts again.
 */
import type { AgentRecord, StopMark } from "../../../core/agent/agent.ts";
import type { Message } from "../../../core/message/message.ts";
import type { AgentLease } from "../../runtime/agent-lease.ts";
import type { RunPorts } from "../../runtime/run-ports.ts";
import { type Stop, stopOf } from "../../subagents/tree.ts";
import { recordSilent, settle, settlement } from "./inbox-steps.ts";

const PORTION = 256;

/**
 * One commit of it. `free`: the agent is under no stop, or no longer; what was read of it may be old. `quiet`: nothing is
 * left that would need a run. `removing`: nothing is left but the stops that asked for it. `settled`: these were, and there may be more.
 */
export type StopResult =
  | { readonly is: "free" }
  | { readonly is: "quiet" }
  | { readonly is: "removing"; readonly reason: string; readonly stops: readonly Message[] }
  | { readonly is: "settled"; readonly messages: readonly Message[] };

export async function drainStoppedInbox(ports: RunPorts, lease: AgentLease): Promise<StopResult> {
  const record = await ports.store.agent(lease.agentId);
  const stop = record && (await stopOf(ports.store, record));
  if (!stop) return { is: "free" };
  const waiting = await ports.store.waiting(lease.agentId, { limit: PORTION });
  if (stop.mark.removing && stop.agentId === lease.agentId) return windUp(ports, lease, stop.mark, waiting);
  const needing = waiting.filter(({ body }) => NEED_A_RUN.has(body.kind));
  const before = needing.filter(({ seq }) => seq < (stop.mark.seq ?? 0));
  if (startsAgain(record, stop, needing)) {
    if (before.length > 0) return giveUp(ports, lease, stop, before);
    const { seq } = stop.mark;
    const start = { op: "agent.stop", agentId: lease.agentId, mark: null } as const;
    await lease.commit({ site: "start-again", ops: [seq === undefined ? start : { ...start, ifSeq: seq }] });
    return { is: "free" };
  }
  return needing.length === 0 ? { is: "quiet" } : giveUp(ports, lease, stop, needing);
}

/** For good: whatever waits is settled as removed, commands too. The stops stay to the last, so that somebody is woken. */
async function windUp(
  ports: RunPorts,
  lease: AgentLease,
  { reason }: StopMark,
  waiting: readonly Message[],
): Promise<StopResult> {
  const others = waiting.filter(({ body }) => body.kind !== "stop");
  if (others.length === 0) return { is: "removing", reason, stops: waiting };
  await settle(ports, lease, "wind-up", others, "removed", `agent ${lease.agentId} was ${reason}`);
  return { is: "settled", messages: others };
}

/** The last commit of an agent that is to be removed: the stops are settled, and it is gone. Its history stays. */
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

/** Commands to the engine are handled as ever. */
const NEED_A_RUN: ReadonlySet<Message["body"]["kind"]> = new Set(["user", "system", "trigger", "report", "compact"]);

/** Whether a person has written since the stop, to an agent that a person's word starts again. */
function startsAgain(record: AgentRecord, { agentId, mark }: Stop, waiting: readonly Message[]): boolean {
  if (record.descriptor.type === "subagent" || agentId !== record.id || mark.removed) return false;
  return waiting.some(({ seq, body }) => body.kind === "user" && seq >= (mark.seq ?? 0));
}

async function giveUp(
  ports: RunPorts,
  lease: AgentLease,
  { agentId, mark }: Stop,
  messages: readonly Message[],
): Promise<StopResult> {
  const reason = `agent ${agentId} was stopped: ${mark.reason}`;
  const told = messages.filter(({ body }) => body.kind === "report" || (body.kind === "system" && body.silent));
  if (told.length > 0) {
    await recordSilent(ports, lease, told, reason);
    return { is: "settled", messages: told };
  }
  await settle(ports, lease, "wind-down", messages, "aborted", reason);
  return { is: "settled", messages };
}
