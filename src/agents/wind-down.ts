/**
 * What becomes of the inbox of an agent that was stopped, itself or from above (M20). What waits is settled with its trace,
 * reports are kept in history, and nobody waits for a run that may not begin. A person's next message starts the agent
 * again; a subagent never starts again.
 */
import type { AgentRecord } from "../core/agent.ts";
import type { Message } from "../core/message.ts";
import type { Holding } from "../runs/holding.ts";
import type { RunPorts } from "../runs/run-ports.ts";
import { recordSilent, settle } from "./inbox-steps.ts";
import { type Stop, stopOf } from "./subagents/tree.ts";

const PORTION = 256;

/**
 * One commit of it. `free`: the agent is under no stop, or no longer; what was read of it may be old. `quiet`: nothing is
 * left that would need a run. `settled`: these were, and there may be more.
 */
export type WoundDown =
  | { readonly is: "free" }
  | { readonly is: "quiet" }
  | { readonly is: "settled"; readonly messages: readonly Message[] };

export async function windDown(ports: RunPorts, holding: Holding): Promise<WoundDown> {
  const record = await ports.store.agent(holding.agentId);
  const stop = record && (await stopOf(ports.store, record));
  if (!stop) return { is: "free" };
  const waiting = await ports.store.waiting(holding.agentId, { limit: PORTION });
  const needing = waiting.filter(({ body }) => NEED_A_RUN.has(body.kind));
  const before = needing.filter(({ seq }) => seq < (stop.mark.seq ?? 0));
  if (startsAgain(record, stop, needing)) {
    if (before.length > 0) return giveUp(ports, holding, stop, before);
    const { seq } = stop.mark;
    const start = { op: "agent.stop", agentId: holding.agentId, mark: null } as const;
    await holding.commit({ site: "start-again", ops: [seq === undefined ? start : { ...start, ifSeq: seq }] });
    return { is: "free" };
  }
  return needing.length === 0 ? { is: "quiet" } : giveUp(ports, holding, stop, needing);
}

/** Commands to the engine are handled as ever. */
const NEED_A_RUN: ReadonlySet<Message["body"]["kind"]> = new Set(["user", "system", "trigger", "report"]);

/** Whether a person has written since the stop, to an agent that a person's word starts again. */
function startsAgain(record: AgentRecord, { agentId, mark }: Stop, waiting: readonly Message[]): boolean {
  if (record.descriptor.type === "subagent" || agentId !== record.id || mark.removed) return false;
  return waiting.some(({ seq, body }) => body.kind === "user" && seq >= (mark.seq ?? 0));
}

async function giveUp(
  ports: RunPorts,
  holding: Holding,
  { agentId, mark }: Stop,
  messages: readonly Message[],
): Promise<WoundDown> {
  const reason = `agent ${agentId} was stopped: ${mark.reason}`;
  const told = messages.filter(({ body }) => body.kind === "report" || (body.kind === "system" && body.silent));
  if (told.length > 0) {
    await recordSilent(ports, holding, told, reason);
    return { is: "settled", messages: told };
  }
  await settle(ports, holding, "wind-down", messages, "aborted", reason);
  return { is: "settled", messages };
}
