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

interface GroupCommitOptions {
  /** Applies a group; returns a result or an error for each change. Must not throw. */
  readonly apply: (changes: readonly Change[], batchable: boolean) => Promise<readonly (CommitResult | Error)[]>;
  readonly maxBatch: number;
  /** Groups in progress at once. */
  readonly lanes: number;
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
/** How many queued changes are searched for ones that can be sent now. */
const SEARCH = 1_024;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  /** Keys of the groups in progress; a key is in one group at most. */
  readonly #held = new Set<string>();
  #queue: Queued[] = [];
  #scheduled = false;
  #closed = false;
  #running = 0;
  #isBusy = false;
  #whenEmpty: (() => void) | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  commit(change: Change): Promise<CommitResult> {
    if (this.#closed) return Promise.reject(new StoreClosedError("The store is closed."));
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, keys: keysOf(change), batchable: isBatchable(change), resolve, reject });
      this.#schedule();
    });
  }

  /** Commits what is queued, and rejects later commits. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#queue.length === 0 && this.#running === 0) return;
    // What is queued is scheduled already, or waits for a group in progress.
    await new Promise<void>((resolve) => (this.#whenEmpty = resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // A group costs about the same at any size, so under load it pays to wait for more changes.
    if (this.#isBusy && this.#queue.length < this.#options.maxBatch) setTimeout(() => this.#pump(), GATHER_MS);
    else setImmediate(() => this.#pump());
  }

  #pump(): void {
    this.#scheduled = false;
    while (this.#running < this.#options.lanes) {
      const batch = this.#nextBatch();
      const [first] = batch;
      if (!first) return;
      this.#isBusy = batch.length >= BUSY;
      void this.#send(batch, first.batchable);
    }
  }

  /** The first changes that conflict with no group in progress and with no change skipped before them. */
  #nextBatch(): Queued[] {
    const { maxBatch } = this.#options;
    const queue = this.#queue;
    const batch: Queued[] = [];
    const rest: Queued[] = [];
    const skipped = new Set<string>();
    let searched = 0;
    const group = new BatchGroup();
    // The first change decides whether the group is a batch.
    const fits = ({ batchable, change }: Queued): boolean => {
      const [first] = batch;
      if (first && (batchable !== first.batchable || solo(change) || solo(first.change))) return false;
      return !batchable || group.takes(change);
    };
    for (; searched < Math.min(queue.length, SEARCH) && batch.length < maxBatch; searched++) {
      const queued = queue[searched] as Queued;
      if (this.#mayGo(queued, skipped) && fits(queued)) batch.push(queued);
      else {
        rest.push(queued);
        for (const key of queued.keys) skipped.add(key);
      }
    }
    this.#queue = rest.length === 0 ? queue.slice(searched) : [...rest, ...queue.slice(searched)];
    return batch;
  }

  #mayGo({ keys }: Queued, skipped: ReadonlySet<string>): boolean {
    if (skipped.has(ALL) || this.#held.has(ALL)) return false;
    if (keys.includes(ALL)) return this.#held.size === 0 && skipped.size === 0;
    return !keys.some((key) => this.#held.has(key) || skipped.has(key));
  }

  async #send(batch: readonly Queued[], batchable: boolean): Promise<void> {
    const keys = batch.flatMap((queued) => queued.keys);
    this.#running += 1;
    for (const key of keys) this.#held.add(key);
    const results = await this.#options.apply(
      batch.map(({ change }) => change),
      batchable,
    );
    this.#running -= 1;
    for (const key of keys) this.#held.delete(key);
    batch.forEach(({ resolve, reject }, index) => {
      const result = results[index];
      if (result === undefined || result instanceof Error) reject(result);
      else resolve(result);
    });
    if (this.#queue.length > 0) this.#schedule();
    else if (this.#running === 0) this.#whenEmpty?.();
  }
}

/** A change computed from rows read before is sent alone, so that no change of its own group changes those rows. */
const solo = ({ ops }: Change): boolean => ops.some(({ op }) => op === "job.ran" || op === "job.delivered");

function keysOf(change: Change): string[] {
  const keys = locksOf(change).map(([kind, name]) => `${kind} ${name}`);
  if (change.ops.some(({ op }) => BARRIERS.has(op))) keys.push(ALL);
  return keys;
}
