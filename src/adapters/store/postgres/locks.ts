/**
 * What changes lock: a group locks everything it will write before it writes (M3, M20), and changes that lock nothing in
 * common may be applied at the same time.
 */
import type { Change } from "../../../core/store/change.ts";
import type { GroupLocks, Lock } from "./op-form.ts";
import { formOf } from "./ops.ts";

/** Everything a change will write. */
export function locksOf({ owner, ops }: Change): Lock[] {
  const locks: Lock[] = owner ? [["agents", owner.agentId]] : [];
  for (const op of ops) {
    const { locks: locksOfOp } = formOf(op);
    if (locksOfOp) locks.push(...locksOfOp(op));
  }
  return locks;
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
