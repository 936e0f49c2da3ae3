/**
 * The one way to commit a change outside of an agent's lease. A commit whose answer was lost is looked up by its id before
 * anything else happens (M2), so a caller sees "applied", "refused" or an error, never a guess.
 */
import type { Ports } from "../../core/ports/ports.ts";
import type { Change, CommitResult, Op, Owner, Posted } from "../../core/store/change.ts";
import type { CommitSite } from "../../core/store/commit-sites.ts";
import type { Store } from "../../core/store/store.ts";

export type CommitPorts = Pick<Ports, "store" | "ids" | "clock">;

interface SubmitOptions {
  /** The run that makes the change: refused if that run is at another step by now. */
  readonly owner?: Owner;
  /** The node that claims the agents this change posts to, so that they wake at once and not at the next poll. */
  readonly claimFor?: number;
  /** Default: now. */
  readonly at?: number;
}

/** Durable when it resolves with `ok`. A refusal is returned. Throws the store's error if the outcome stays unknown. */
export function submit(
  { store, ids, clock }: CommitPorts,
  site: CommitSite,
  ops: readonly Op[],
  { owner, claimFor, at = clock.now() }: SubmitOptions = {},
): Promise<CommitResult> {
  return commitKnown(store, { id: ids.change(), site, at, owner, ops: claimedFor(ops, claimFor) });
}

/** Commits. If the answer was lost, asks the store for the outcome by the change's id (M2). */
export async function commitKnown(store: Pick<Store, "commit" | "outcome">, change: Change): Promise<CommitResult> {
  try {
    return await store.commit(withHolds(change));
  } catch (error) {
    const outcome = await store.outcome(change.id).catch(() => undefined);
    if (outcome) return outcome;
    throw error;
  }
}

/**
 * A delivery refers to its files from the commit that makes it, whoever makes it: no sweep removes them before it has ended. At the
 * end, so that the results of the other ops keep their places.
 */
function withHolds(change: Change): Change {
  const holds = change.ops.flatMap((op): Op[] => {
    if (op.op !== "delivery.add") return [];
    const files = op.delivery.payload.files?.map(({ id }) => id) ?? [];
    return files.length === 0 ? [] : [{ op: "file.hold", files, by: { delivery: op.delivery.id }, ifKept: true }];
  });
  return holds.length === 0 ? change : { ...change, ops: [...change.ops, ...holds] };
}

/** The same changes, with posted messages claimed for a node unless they name one themselves. */
export const claimedFor = (ops: readonly Op[], node: number | undefined): readonly Op[] =>
  node === undefined
    ? ops
    : ops.map((op) => (op.op === "message.post" && op.claimFor === undefined ? { ...op, claimFor: node } : op));

/** The messages that a commit has posted. */
export const postedIn = (result: Extract<CommitResult, { ok: true }>): readonly Posted[] =>
  result.results.flatMap((one) => (one?.op === "message.post" ? [one] : []));
