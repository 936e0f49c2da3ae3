/**
 * Retention: removes one bounded portion of what has outlived its limit, walking a table from where the last portion
 * ended. What has not ended is kept, whatever its age; history is never touched. The newest change and the newest
 * delivery stay, so that their numbers go on upwards.
 */
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { Database } from "./database.ts";

export function prune(db: Database, op: Extract<Op, { op: "prune" }>): OpResult {
  const start = op.what === "dedupe" ? (op.after ?? "") : Number(op.after ?? 0);
  const rows = db.statement(`prune-${op.what}-walk`).all(start, op.limit);
  let removed = 0;
  for (const row of rows) {
    if (row.ended_at === null || Number(row.ended_at) >= op.before) continue;
    db.statement(`prune-${op.what}-delete`).run(row.n as string | number);
    removed += 1;
  }
  const last = rows.at(-1);
  const next = rows.length === op.limit && last ? String(last.n) : undefined;
  return { op: "prune", removed, next };
}
