/**
 * Stops a tree of agents. The mark on one agent holds for all its descendants, also for one that is created at this moment
 * (M20). The stop messages only end active work sooner.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Op } from "../../core/store/change.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { descendantsOf } from "./tree.ts";

type StopReader = Pick<StoreReader, "agent" | "children">;

/** The ops that stop an agent and its descendants. */
export async function stopOps(store: StopReader, agentId: AgentId, reason: string, at: number): Promise<readonly Op[]> {
  const ops: Op[] = [{ op: "agent.stop", agentId, mark: { at, reason } }];
  const agent = await store.agent(agentId);
  if (agent) addStopMessage(ops, agent, at, reason);
  for await (const child of descendantsOf(store, agentId)) addStopMessage(ops, child, at, reason);
  return ops;
}

/** A resting agent needs no message: it finds the mark when it is woken. Its open questions are withdrawn in any case (M31). */
function addStopMessage(ops: Op[], { id, runId, waiting }: AgentRecord, at: number, reason: string): void {
  ops.push({ op: "approval.withdraw", of: { agentId: id }, reason });
  if (runId === undefined && waiting === 0) return;
  ops.push({ op: "message.post", to: { agentId: id }, message: { body: { kind: "stop" }, acceptedAt: at } });
}

/** The ops that stop the open children of an agent. The agent itself is not stopped. */
export async function stopChildrenOps(
  store: StopReader & Pick<StoreReader, "openSubagentRuns" | "subagentRuns">,
  agent: AgentRecord,
  at: number,
): Promise<{ readonly ops: readonly Op[]; readonly stopped: number }> {
  if ((await store.openSubagentRuns(agent.sessionKey)) === 0) return { ops: [], stopped: 0 };
  const records = await store.subagentRuns({ requesterSessionKey: agent.sessionKey });
  const open = records.filter(({ endedAt, childAgentId }) => endedAt === undefined && childAgentId !== undefined);
  const ops: Op[] = [];
  for (const { childAgentId } of open) {
    ops.push(...(await stopOps(store, childAgentId as AgentId, "its requester was stopped", at)));
  }
  return { ops, stopped: open.length };
}
