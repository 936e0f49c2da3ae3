/** Ops on runs. An agent has at most one open run (L3); an abort is a mark that every later step reads (M9). */
import type { Op, OpResult } from "../../../core/store/change.ts";
import { type Applying, ownerOf, stoppedBy, touch } from "./apply-change.ts";
import { RefusedChange } from "./refused.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export function openRun(applying: Applying, op: OpOf<"run.open">): undefined {
  const { db, change } = applying;
  const owner = ownerOf(applying);
  if (owner.run_id !== null) throw new RefusedChange("conflict", `Agent ${owner.id} has the open run ${owner.run_id}.`);
  const stopped = stoppedBy(db, owner);
  if (stopped) throw new RefusedChange("stopped", `Agent ${stopped} was stopped.`);
  db.statement("insert-run").run(op.runId, owner.no, owner.session_id, change.at, JSON.stringify(op.body));
  owner.run_id = op.runId;
  touch(applying, owner, "all");
}

export function stepRun(applying: Applying, op: OpOf<"run.step">): undefined {
  const owner = ownerOf(applying);
  const { changes } = applying.db.statement("step-run").run(op.attempt ?? 1, JSON.stringify(op.body), op.runId);
  if (changes !== 1 || owner.run_id !== op.runId) throw new RefusedChange("run", `Run ${op.runId} is not open.`);
  applying.touched.add(owner.no);
}

export function endRun(applying: Applying, op: OpOf<"run.end">): undefined {
  const owner = ownerOf(applying);
  const body = JSON.stringify(op.body);
  const { changes } = applying.db.statement("end-run").run(op.outcome, applying.change.at, body, op.runId);
  if (changes !== 1 || owner.run_id !== op.runId) throw new RefusedChange("run", `Run ${op.runId} is not open.`);
  owner.run_id = null;
  // One that ended well has come back from whatever it waited for.
  if (op.outcome !== "ok") applying.db.statement("remove-waits-of").run(owner.id);
  touch(applying, owner, "all");
}

/** Marks a run to end. No effect on one that has ended or bears a mark already. */
export function abortRun({ db, touched }: Applying, op: OpOf<"run.abort">): OpResult {
  const row = db.statement("select-run-agent").get(op.runId);
  if (!row) throw new RefusedChange("missing", `There is no run ${op.runId}.`);
  const { changes } = db.statement("abort-run").run(JSON.stringify(op.mark), op.runId);
  touched.add(Number(row.agent));
  return { op: "run.abort", marked: changes === 1 };
}
