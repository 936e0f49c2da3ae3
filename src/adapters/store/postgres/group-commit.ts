/**
 * Group commit over several connections: changes that are ready at the same moment share one transaction, one round trip
 * and one flush. Changes that lock the same agent or key are applied in the order they came; others run side by side on
 * different connections, so that one slow group does not delay the rest.
 */

import { StoreClosedError } from "../../../core/errors.ts";
import type { Change, CommitResult, Op } from "../../../core/store/change.ts";
import { BatchGroup, isBatchable } from "./batchable.ts";
import { locksOf } from "./locks.ts";

interface Queued {
  readonly change: Change;
  readonly keys: readonly string[];
  readonly batchable: boolean;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions {
  /** Applies a group; returns a result or an error for each change. Must not throw. */
  readonly apply: (changes: readonly Change[], batchable: boolean) => Promise<readonly (CommitResult | Error)[]>;
  readonly maxBatch: number;
  /** Groups in progress at once. */
  readonly lanes: number;
}

export interface GroupCommit {
  commit(change: Change): Promise<CommitResult>;
  /** Commits what is queued, and rejects later commits. */
  close(): Promise<void>;
}

/** The key of changes that concern all agents: they wait for everything before them, and everything after waits for them. */
const ALL = "*";
/** Ops that name no agent, or reach agents they do not name. */
const BARRIERS: ReadonlySet<Op["op"]> = new Set([
  ...(["agents.claim", "prune", "budget.sweep"] as const),
  ...(["run.abort", "agent.stop", "agent.remove"] as const),
]);
/** After a group of this size, the next one waits this long for more changes. */
const BUSY = 4;
const GATHER_MS = 1;
/** How far the queue is searched for changes that may go now. */
const SEARCH = 1_024;

export function groupCommit(options: GroupCommitOptions): GroupCommit {
  let queue: Queued[] = [];
  let scheduled = false;
  let closed = false;
  let running = 0;
  let whenEmpty: (() => void) | undefined;
  /** Keys of the groups in progress, and how many changes hold each. */
  const held = new Map<string, number>();

  let isBusy = false;

  const pump = (): void => {
    scheduled = false;
    while (running < options.lanes && queue.length > 0) {
      const batch = nextBatch();
      if (batch.length === 0) return;
      isBusy = batch.length >= BUSY;
      void send(batch);
    }
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    // A group costs about the same at any size, so under load it pays to wait for more changes.
    if (isBusy && queue.length < options.maxBatch) setTimeout(pump, GATHER_MS);
    else setImmediate(pump);
  };

  /** The first changes that conflict with no group in progress and with no change skipped before them. */
  function nextBatch(): Queued[] {
    const batch: Queued[] = [];
    const rest: Queued[] = [];
    const skipped = new Set<string>();
    let searched = 0;
    const group = new BatchGroup();
    // The first change decides whether the group is a batch.
    const fits = ({ batchable, change }: Queued): boolean =>
      batch.length === 0 || (batchable === batch[0]?.batchable && !solo(change) && !solo(batch[0]?.change))
        ? !batchable || group.takes(change)
        : false;
    for (; searched < Math.min(queue.length, SEARCH) && batch.length < options.maxBatch; searched++) {
      const queued = queue[searched] as Queued;
      if (mayGo(queued, skipped) && fits(queued)) batch.push(queued);
      else {
        rest.push(queued);
        for (const key of queued.keys) skipped.add(key);
      }
    }
    queue = rest.length === 0 ? queue.slice(searched) : [...rest, ...queue.slice(searched)];
    return batch;
  }

  function mayGo({ keys }: Queued, skipped: ReadonlySet<string>): boolean {
    if (skipped.has(ALL) || held.has(ALL)) return false;
    if (keys.includes(ALL)) return held.size === 0 && skipped.size === 0;
    return !keys.some((key) => held.has(key) || skipped.has(key));
  }

  async function send(batch: readonly Queued[]): Promise<void> {
    running += 1;
    for (const { keys } of batch) for (const key of keys) held.set(key, (held.get(key) ?? 0) + 1);
    const results = await options.apply(
      batch.map(({ change }) => change),
      batch[0]?.batchable ?? false,
    );
    running -= 1;
    for (const { keys } of batch) {
      for (const key of keys) {
        const left = (held.get(key) ?? 1) - 1;
        if (left === 0) held.delete(key);
        else held.set(key, left);
      }
    }
    batch.forEach(({ resolve, reject }, index) => {
      const result = results[index];
      if (result === undefined || result instanceof Error) reject(result);
      else resolve(result);
    });
    if (queue.length > 0) schedule();
    else if (running === 0) whenEmpty?.();
  }

  return {
    commit(change) {
      if (closed) return Promise.reject(new StoreClosedError("The store is closed."));
      return new Promise((resolve, reject) => {
        queue.push({ change, keys: keysOf(change), batchable: isBatchable(change), resolve, reject });
        schedule();
      });
    },
    async close() {
      closed = true;
      if (queue.length === 0 && running === 0) return;
      const empty = new Promise<void>((resolve) => (whenEmpty = resolve));
      schedule();
      await empty;
    },
  };
}

/** A change computed from rows read before goes alone, so that no change of its own group changes those rows. */
const solo = (change: Change | undefined): boolean =>
  change?.ops.some(({ op }) => op === "job.ran" || op === "job.delivered") ?? false;

function keysOf(change: Change): string[] {
  const keys = locksOf(change).map(([kind, name]) => `${kind} ${name}`);
  if (change.ops.some(({ op }) => BARRIERS.has(op))) keys.push(ALL);
  return keys;
}
