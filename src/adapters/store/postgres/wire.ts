/** A group of changes as `apply_changes` reads it: one JSON value, and beside it the names of everything the group locks. */
import type { Change, Op } from "../../../core/store/change.ts";
import { locksOfGroup } from "./locks.ts";
import { type GroupLocks, type ReadBefore, type Wire, whole } from "./op-form.ts";
import { formOf } from "./ops.ts";

interface WireGroup extends GroupLocks {
  readonly changes: string;
}

export function toWire(changes: readonly Change[], read: ReadBefore): WireGroup {
  return { ...locksOfGroup(changes), changes: JSON.stringify(changes.map((change) => wireChange(change, read))) };
}

function wireChange({ id, site, at, owner, ops }: Change, read: ReadBefore): Wire {
  return { id, site, at: whole(at), owner, ops: ops.map((op) => wireOp(op, at, read)) };
}

function wireOp(op: Op, at: number, read: ReadBefore): Wire {
  const { byOwner, wire } = formOf(op);
  return { op: op.op, byOwner, ...wire(op, at, read) };
}
