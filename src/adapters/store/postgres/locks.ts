/**
 * What changes touch, by kind: so that a group can lock all it will write before it writes (M3, M20), and so that changes
 * which touch nothing in common may be applied at the same time.
 */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import type { Change } from "../../../core/store/change.ts";
import { clean } from "./clean-text.ts";

/** Everything a group locks before it writes, always in this order. */
export interface GroupLocks {
  /** Everything with a key of its own: session keys that may be made, dedupe keys, deliveries, jobs, facts. */
  readonly names: readonly string[];
  readonly agents: readonly string[];
  readonly keys: readonly string[];
  readonly runs: readonly string[];
  /** Parents of agents that may be made, and agents that are stopped (M20). */
  readonly parents: readonly string[];
  readonly stops: readonly string[];
  /** Budget rows, and reservations by their id or run, `*` for all, whose rows the database knows. */
  readonly budgets: readonly string[];
  readonly reservations: readonly string[];
}

export function locksOfGroup(changes: readonly Change[]): GroupLocks {
  const locks = {
    names: new Set<string>(),
    agents: new Set<string>(),
    keys: new Set<string>(),
    runs: new Set<string>(),
    parents: new Set<string>(),
    stops: new Set<string>(),
    budgets: new Set<string>(),
    reservations: new Set<string>(),
  };
  for (const change of changes) for (const [kind, name] of locksOf(change)) locks[kind].add(name);
  return {
    names: [...locks.names],
    agents: [...locks.agents],
    keys: [...locks.keys],
    runs: [...locks.runs],
    parents: [...locks.parents],
    stops: [...locks.stops],
    budgets: [...locks.budgets],
    reservations: [...locks.reservations],
  };
}

export type Lock = readonly [keyof GroupLocks, string];

/** Everything a change will touch, by kind. Two changes without a common lock may be applied at the same time. */
export function locksOf({ owner, ops }: Change): Lock[] {
  const locks: Lock[] = owner ? [["agents", owner.agentId]] : [];
  for (const op of ops) {
    switch (op.op) {
      case "agent.create":
        locks.push(...seedLocks(op.seed));
        break;
      case "message.post":
        if ("agentId" in op.to) locks.push(["agents", clean(op.to.agentId)]);
        else {
          locks.push(["keys", clean(op.to.sessionKey)]);
          if (op.to.create) locks.push(...seedLocks(op.to.create));
        }
        if (op.dedupe) locks.push(["names", `dedupe ${clean(op.dedupe.key)}`]);
        break;
      case "run.abort":
        locks.push(["runs", clean(op.runId)]);
        break;
      case "agent.stop":
        locks.push(["agents", clean(op.agentId)], ["stops", clean(op.agentId)]);
        break;
      case "agent.remove":
        locks.push(["agents", clean(op.agentId)], ["stops", clean(op.agentId)]);
        break;
      case "agent.claim":
        locks.push(["agents", clean(op.agentId)]);
        break;
      case "delivery.move":
        locks.push(["names", `delivery ${clean(op.id)}`]);
        break;
      case "swarm.put":
        locks.push(["names", `swarm ${clean(op.swarm.nametag)}`]);
        break;
      case "swarm.remove":
      case "swarm.contact":
        locks.push(["names", `swarm ${clean(op.nametag)}`]);
        break;
      case "wait.begin":
        locks.push(["names", "waits"], ["names", `wait ${clean(op.id)}`]);
        if ("sessionKey" in op.to) locks.push(["keys", clean(op.to.sessionKey)]);
        break;
      case "wait.end":
        locks.push(["names", `wait ${clean(op.id)}`]);
        break;
      case "budget.reserve":
        locks.push(["names", `reservation ${clean(op.id)}`], ["reservations", clean(op.id)]);
        for (const { key } of op.rows) locks.push(["budgets", clean(key)]);
        break;
      case "budget.settle":
        locks.push(["names", `reservation ${clean(op.id)}`], ["reservations", clean(op.id)]);
        break;
      case "budget.forfeit":
        locks.push(["reservations", clean(op.runId)]);
        break;
      case "budget.told":
      case "budget.lift":
        locks.push(["budgets", clean(op.key)]);
        break;
      case "budget.sweep":
        locks.push(["reservations", "*"]);
        break;
      case "job.put":
        locks.push(["names", `job ${clean(op.job.id)}`]);
        break;
      case "job.remove":
        locks.push(["names", `job ${clean(op.id)}`]);
        break;
      case "job.slot":
        locks.push(["names", `slot ${jobRanKey({ jobId: clean(op.slot.jobId), slot: clean(op.slot.slot) })}`]);
        break;
      case "job.delivered":
      case "job.ran":
        locks.push(["names", `job ${clean(op.jobId)}`]);
        break;
      case "subagent.put":
        locks.push(["names", `subagent ${clean(op.record.runId)}`]);
        break;
      case "subagent.remove":
        locks.push(["names", `subagent ${clean(op.runId)}`]);
        break;
      case "fact.put":
        locks.push(["names", `fact ${clean(op.key)}`]);
        break;
      default:
        break;
    }
  }
  return locks;
}

function seedLocks(seed: AgentSeed): Lock[] {
  const { descriptor } = seed;
  const locks: Lock[] = [["names", `key ${clean(seed.sessionKey)}`]];
  if (descriptor.type === "subagent") locks.push(["parents", clean(descriptor.parentAgentId)]);
  return locks;
}

export const jobRanKey = ({ jobId, slot }: { readonly jobId: string; readonly slot: string }): string =>
  JSON.stringify([jobId, slot]);
