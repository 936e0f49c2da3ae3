/**
 * The agent that gets a report: the requester; if it was removed or stopped, or is a child that has reported itself, its nearest living ancestor; else the agent its
 * person wrote to last. Without any, the report is dropped and the record says so (M19). An archived requester counts as living.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import type { DeliveryContext } from "../../core/delivery/delivery.ts";
import { personAddress } from "../../core/delivery/route.ts";
import type { AgentId, SessionKey } from "../../core/ids.ts";
import type { StoreReader } from "../../core/store/store.ts";
import type { People } from "../runtime/people.ts";
import { ancestorsOf, stopOf } from "./tree.ts";

type ReportTarget =
  | {
      readonly agentId: AgentId;
      /** Where its answer goes. */
      readonly delivery?: DeliveryContext;
      /** Stopped until its person writes again: the report is recorded and does not wake it. */
      readonly asleep?: true;
    }
  | { readonly dropped: string };

type TargetReader = Pick<StoreReader, "agent" | "agentByKey" | "subagentRuns">;
export type ReportPeople = Pick<People, "personOf" | "foregroundOf" | "routeOf">;

export async function reportTarget(
  { store, people }: { readonly store: TargetReader; readonly people: ReportPeople },
  record: SubagentRunRecord,
): Promise<ReportTarget> {
  const deliveryFor = (agent: AgentRecord): DeliveryContext | undefined => deliveryOf(people, agent, record);
  const requester = await requesterOf(store, record);
  const chain = requester ? [requester, ...(await ancestorsOf(store, requester))] : [];
  const there = chain.filter(({ stopped }) => !stopped?.removed);
  for (const agent of there) {
    // What it hears now, no one would hear from it.
    if (await hasReported(store, agent)) continue;
    if (!(await stopOf(store, agent))) return { agentId: agent.id, delivery: deliveryFor(agent) };
  }
  // A stopped conversation sleeps until its person writes. The report belongs to that person and to no other.
  const sleeping = there.findLast(({ descriptor }) => descriptor.type === "user");
  if (sleeping) return { agentId: sleeping.id, delivery: deliveryFor(sleeping), asleep: true };
  const person = requester && (await people.personOf(requester));
  const foreground = person === undefined ? undefined : await people.foregroundOf(person);
  if (!foreground) return { dropped: "its requester was removed, and its person has no other conversation" };
  const asleep = foreground.stopped ? true : undefined;
  return { agentId: foreground.id, delivery: deliveryFor(foreground), asleep };
}

/** Whether an agent is a child whose spawns have all ended. */
async function hasReported(store: TargetReader, { id, descriptor }: AgentRecord): Promise<boolean> {
  if (descriptor.type !== "subagent") return false;
  const parent = await store.agent(descriptor.parentAgentId as AgentId);
  if (!parent) return false;
  const own = (await store.subagentRuns({ requesterSessionKey: parent.sessionKey })).filter(
    ({ childAgentId }) => childAgentId === id,
  );
  return own.length > 0 && own.every(({ endedAt }) => endedAt !== undefined);
}

async function requesterOf(store: TargetReader, record: SubagentRunRecord): Promise<AgentRecord | undefined> {
  const { requesterAgentId: id, requesterSessionKey: key } = record;
  return id === undefined ? await store.agentByKey(key as SessionKey) : await store.agent(id as AgentId);
}

/**
 * The requester answers where the spawn came from, or to its person if the spawn came with a request that waited for its own
 * answer; another agent answers to its person. A conversation without a route still owes the words (M26).
 */
function deliveryOf(
  people: ReportPeople,
  agent: AgentRecord,
  { requesterSessionKey, requesterOrigin }: SubagentRunRecord,
): DeliveryContext | undefined {
  const origin = agent.sessionKey === requesterSessionKey ? requesterOrigin : undefined;
  if (origin || agent.descriptor.type !== "user") return origin;
  return people.routeOf(agent) ?? personAddress(agent.sessionKey);
}
