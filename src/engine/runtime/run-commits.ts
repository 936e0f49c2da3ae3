/**
 * The commits of a run, in its record: each says which it was, when, and on which node. So a person sees what a run has done step by
 * step, and where another process continued it after a crash. Bounded: of a long run the first and the latest ones are kept.
 */
import type { RunId } from "../../core/ids.ts";
import type { RunBody, RunCommit } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";

/** The commits of the run that a lease works on, as they were last stored. */
export interface KnownCommits {
  readonly runId: RunId;
  readonly list: readonly RunCommit[];
}

const MOST = 60;

type RunOp = Extract<Op, { readonly body: RunBody; readonly runId: RunId }>;
const isOfRun = (op: Op): op is RunOp =>
  op.op === "run.open" || op.op === "run.step" || op.op === "run.amend" || op.op === "run.end";

/** The same ops, with this commit in the record of the run they change. `known`: what the record then has. */
export function withCommit(
  ops: readonly Op[],
  known: KnownCommits | undefined,
  commit: Required<RunCommit>,
): { readonly ops: readonly Op[]; readonly known: KnownCommits | undefined } {
  const last = ops.findLast(isOfRun);
  if (!last) return { ops: ops.map((op) => kept(op, known)), known };
  const before = last.op === "run.open" ? [] : known?.runId === last.runId ? known.list : (last.body.commits ?? []);
  const list = bounded([...before, sameNode(before, commit)]);
  const noted = ops.map((op) => (isOfRun(op) ? { ...op, body: { ...op.body, commits: [...list] } } : op));
  return { ops: noted, known: { runId: last.runId, list } };
}

/** A reservation replaces the record too, and is no step. */
function kept(op: Op, known: KnownCommits | undefined): Op {
  if (op.op !== "budget.reserve" || !op.counted || known?.runId !== op.runId) return op;
  return { ...op, counted: { ...op.counted, commits: [...known.list] } };
}

/** A node is named where it begins to work on the run. */
function sameNode(before: readonly RunCommit[], { site, at, node }: Required<RunCommit>): RunCommit {
  return before.findLast((one) => one.node !== undefined)?.node === node ? { site, at } : { site, at, node };
}

const bounded = (list: readonly RunCommit[]): readonly RunCommit[] =>
  list.length <= MOST ? list : [...list.slice(0, 1), ...list.slice(1 - MOST)];
