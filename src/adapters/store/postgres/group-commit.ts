/**
 * Group commit over several connections: changes that are ready at the same moment share one transaction, one round trip
 * and one flush. Changes that touch the same agent or key are applied in the order they were handed in; others go side by
 * side on different connections, so that one slow group holds nobody up.
 */

import { StoreClosedError } from "../../../core/errors.ts";
import type { Change, CommitResult, Op } from "../../../core/store/change.ts";
import { isBatchable, PlainGroup } from "./batchable.ts";
import { locksOf } from "./locks.ts";

interface Queued {
  readonly change: Change;
  readonly keys: readonly string[];
  readonly plain: boolean;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions {
  /** Applies a group; the answer holds a result or an error for each change. Must not throw. */
  readonly apply: (changes: readonly Change[], plain: boolean) => Promise<readonly (CommitResult | Error)[]>;
  readonly maxBatch: number;
  /** Groups under way at once. */
  readonly lanes: number;
}

export interface GroupCommit {
  commit(change: Change): Promise<CommitResult>;
  /** Commits what is queued and takes no more. */
  close(): Promise<void>;
}

/** What concerns all agents waits for everything before it, and everything after waits for it. */
const ALL = "*";
/** Ops that name no agent, or reach agents they do not name. */
const BARRIERS: ReadonlySet<Op["op"]> = new Set([
  ...(["agents.claim", "prune", "budget.sweep"] as const),
  ...(["run.abort", "agent.stop", "agent.remove"] as const),
]);
/** From so many changes in a group on, the next waits so long for company. */
const BUSY = 4;
const GATHER_MS = 1;
/** How far the queue is searched for changes that may go now. */
const SEARCH = 1_024;

export function groupCommit(options: GroupCommitOptions): GroupCommit {
  let queue: Queued[] = [];
  let scheduled = false;
  let closed = false;
  let underWay = 0;
  let whenEmpty: (() => void) | undefined;
  /** Keys of the groups under way, and how many changes hold each. */
  const held = new Map<string, number>();

  let isBusy = false;

  const pump = (): void => {
    scheduled = false;
    while (underWay < options.lanes && queue.length > 0) {
      const batch = nextBatch();
      if (batch.length === 0) return;
      isBusy = batch.length >= BUSY;
      void send(batch);
    }
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    // A group costs much the same whatever its size: where there is much to do, a little is waited for more.
    if (isBusy && queue.length < options.maxBatch) setTimeout(pump, GATHER_MS);
    else setImmediate(pump);
  };

  /** The first changes that nothing under way, and nothing passed over before them, stands against. */
  function nextBatch(): Queued[] {
    const batch: Queued[] = [];
    const rest: Queued[] = [];
    const passed = new Set<string>();
    let searched = 0;
    const group = new PlainGroup();
    // A group is plain or not as its first change is.
    const fits = ({ plain, change }: Queued): boolean =>
      batch.length === 0 || (plain === batch[0]?.plain && !solo(change) && !solo(batch[0]?.change))
        ? !plain || group.takes(change)
        : false;
    for (; searched < Math.min(queue.length, SEARCH) && batch.length < options.maxBatch; searched++) {
      const queued = queue[searched] as Queued;
      if (mayGo(queued, passed) && fits(queued)) batch.push(queued);
      else {
        rest.push(queued);
        for (const key of queued.keys) passed.add(key);
      }
    }
    queue = rest.length === 0 ? queue.slice(searched) : [...rest, ...queue.slice(searched)];
    return batch;
  }

  function mayGo({ keys }: Queued, passed: ReadonlySet<string>): boolean {
    if (passed.has(ALL) || held.has(ALL)) return false;
    if (keys.includes(ALL)) return held.size === 0 && passed.size === 0;
    return !keys.some((key) => held.has(key) || passed.has(key));
  }

  async function send(batch: readonly Queued[]): Promise<void> {
    underWay += 1;
    for (const { keys } of batch) for (const key of keys) held.set(key, (held.get(key) ?? 0) + 1);
    const results = await options.apply(
      batch.map(({ change }) => change),
      batch[0]?.plain ?? false,
    );
    underWay -= 1;
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
    else if (underWay === 0) whenEmpty?.();
  }

  return {
    commit(change) {
      if (closed) return Promise.reject(new StoreClosedError("The store is closed."));
      return new Promise((resolve, reject) => {
        queue.push({ change, keys: keysOf(change), plain: isBatchable(change), resolve, reject });
        schedule();
      });
    },
    async close() {
      closed = true;
      if (queue.length === 0 && underWay === 0) return;
      const empty = new Promise<void>((resolve) => (whenEmpty = resolve));
      schedule();
      await empty;
    },
  };
}

/** What is worked out from something read before goes alone: nothing of its own group may change that. */
const solo = (change: Change | undefined): boolean =>
  change?.ops.some(({ op }) => op === "job.ran" || op === "job.delivered") ?? false;

function keysOf(change: Change): string[] {
  const keys = locksOf(change).map(([kind, name]) => `${kind} ${name}`);
  if (change.ops.some(({ op }) => BARRIERS.has(op))) keys.push(ALL);
  return keys;
}
