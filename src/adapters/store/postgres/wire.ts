/**
 * A group of changes as the database's function takes it: one JSON value, and beside it the names of everything the group
 * will lock. What the database need not look into (messages, states, bodies) travels as text inside that JSON, so that it
 * is kept byte for byte.
 */
import type { Change } from "../../../core/store/change.ts";
import { type GroupLocks, locksOfGroup } from "./locks.ts";
import { type ReadBefore, type Wire, whole, wireOp } from "./wire-op.ts";

/** What a group locks, and what it says. */
export interface WireGroup extends GroupLocks {
  readonly changes: string;
}

export function toWire(changes: readonly Change[], read: ReadBefore = new Map()): WireGroup {
  return { ...locksOfGroup(changes), changes: JSON.stringify(changes.map((change) => wireChange(change, read))) };
}

function wireChange({ id, site, at, owner, ops }: Change, read: ReadBefore): Wire {
  return { id, site, at: whole(at), owner, ops: ops.map((op) => wireOp(op, at, read)) };
}
