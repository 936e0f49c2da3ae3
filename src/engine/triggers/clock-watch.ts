/**
 * Notices that the wall clock was set back, by comparing it with the monotonic clock. Intervals are then planned again, from the
 * clock of the living node that is furthest ahead: that node would take an earlier time for a missed one and run it at once.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** A smaller change between two looks is drift. */
const DRIFT_MS = 1_000;

/** The intervals are planned from this far ahead of this clock: 0, unless the clock of another node may be ahead. */
export interface SetBack {
  readonly aheadMs: number;
}

export class ClockWatch {
  readonly #clock: Clock;
  readonly #store: Pick<StoreReader, "nodes">;
  readonly #leaseMs: number | undefined;
  /** True at the start, because the clock may have been set back while no node ran. */
  #setBack = true;
  /** The wall clock's lead over the monotonic clock at the last look. */
  #lead = Number.NEGATIVE_INFINITY;
  /** The lead of the clock from which the intervals were last planned, while it was another node's. */
  #planned = Number.POSITIVE_INFINITY;
  /** Nodes whose lease ends later than this clock allows, and since when their lease is the same (monotonic). */
  readonly #ahead = new Map<number, { readonly leaseUntil: number; readonly since: number }>();

  /** `leaseMs`: set if other nodes may use the same store. */
  constructor(clock: Clock, store: Pick<StoreReader, "nodes">, leaseMs: number | undefined) {
    this.#clock = clock;
    this.#store = store;
    this.#leaseMs = leaseMs;
  }

  /** Set if the clock was set back, and the intervals were not planned since. */
  async setBack(): Promise<SetBack | undefined> {
    const lead = this.#clock.now() - this.#clock.monotonic();
    if (lead < this.#lead - DRIFT_MS) {
      this.#setBack = true;
      this.#planned = Number.POSITIVE_INFINITY;
    }
    this.#lead = lead;
    if (!this.#setBack) return undefined;
    const aheadMs = await this.#furthest();
    // A lease tells the other clock only up to its own length.
    const isPlanned = aheadMs > 0 && lead + aheadMs >= this.#planned - (this.#leaseMs ?? 0);
    return isPlanned ? undefined : { aheadMs };
  }

  planned({ aheadMs }: SetBack): void {
    this.#setBack = aheadMs > 0;
    this.#planned = this.#lead + aheadMs;
  }

  /** How far the clocks of living nodes may be ahead; 0 if none is. A node that does not renew its lease for the length of one is dead. */
  async #furthest(): Promise<number> {
    const leaseMs = this.#leaseMs;
    if (leaseMs === undefined) return 0;
    const now = this.#clock.monotonic();
    const latest = this.#clock.now() + leaseMs + DRIFT_MS;
    let furthest = 0;
    for (const { node, left, leaseUntil } of await this.#store.nodes()) {
      if (left || leaseUntil <= latest) {
        this.#ahead.delete(node);
        continue;
      }
      const before = this.#ahead.get(node);
      const since = before?.leaseUntil === leaseUntil ? before.since : now;
      this.#ahead.set(node, { leaseUntil, since });
      if (now - since < leaseMs) furthest = Math.max(furthest, leaseUntil - this.#clock.now());
    }
    return furthest;
  }
}
