/**
 * The agent that gets a report: the requester; if it was removed or stopped, its nearest living ancestor; else the agent a
 * person wrote to last. Without any, the report is dropped and the record says so (M19). An archived requester counts as living.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { ancestorsOf, stopOf } from "./tree.ts";

export type ReportTarget =
  | {
      readonly agentId: AgentId;
      /** Where its answer goes. */
      readonly delivery?: DeliveryContext;
      /** Stopped until its person writes again: the report is recorded and does not wake it. */
      readonly asleep?: true;
    }
  | { readonly dropped: string };

type TargetReader = Pick<StoreReader, "agent" | "agentByKey" | "agentFor">;

export async function reportTarget(store: TargetReader, record: SubagentRunRecord): Promise<ReportTarget> {
  const requester = await requesterOf(store, record);
  const chain = requester ? [requester, ...(await ancestorsOf(store, requester))] : [];
  const there = chain.filter(({ stopped }) => !stopped?.removed);
  for (const agent of there) {
    if (!(await stopOf(store, agent))) return { agentId: agent.id, delivery: deliveryFor(agent, record) };
  }
  // A stopped conversation sleeps until its person writes. The report belongs to that person and to no other.
  const sleeping = there.findLast(({ descriptor }) => descriptor.type === "user");
  if (sleeping) return { agentId: sleeping.id, delivery: deliveryFor(sleeping, record), asleep: true };
  const foreground = await store.agentFor("most-recent-foreground");
  if (!foreground) return { dropped: "its requester was removed, and no person has written to any agent" };
  const asleep = foreground.stopped ? true : undefined;
  return { agentId: foreground.id, delivery: deliveryFor(foreground, record), asleep };
}

async function requesterOf(store: TargetReader, record: SubagentRunRecord): Promise<AgentRecord | undefined> {
  const { requesterAgentId: id, requesterSessionKey: key } = record;
  return id === undefined ? await store.agentByKey(key as SessionKey) : await store.agent(id as AgentId);
}

/** The requester answers where the spawn came from; another agent answers where its person writes. */
const deliveryFor = ({ sessionKey, state }: AgentRecord, record: SubagentRunRecord): DeliveryContext | undefined =>
  sessionKey === record.requesterSessionKey ? record.requesterOrigin : state.deliveryContext;
