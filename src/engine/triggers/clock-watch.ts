/**
 * Notices that the wall clock was set back, by comparing it with the monotonic clock. On a store with other nodes it waits
 * until no living node's clock is ahead: such a node would take this clock's due times for missed ones and run them at once.
 */
import type { Clock } from "../../core/ports/clock.ts";
import type { StoreReader } from "../../core/store/store.ts";

/** A smaller change between two looks is drift. */
const DRIFT_MS = 1_000;

export class ClockWatch {
  readonly #clock: Clock;
  readonly #store: Pick<StoreReader, "nodes">;
  readonly #leaseMs: number | undefined;
  /** True at the start, because the clock may have been set back while no node ran. */
  #setBack = true;
  /** The wall clock's lead over the monotonic clock at the last look. */
  #lead = Number.NEGATIVE_INFINITY;
  /** Nodes whose lease ends later than this clock allows, and since when their lease is the same (monotonic). */
  readonly #ahead = new Map<number, { readonly leaseUntil: number; readonly since: number }>();

  /** `leaseMs`: set if other nodes may use the same store. */
  constructor(clock: Clock, store: Pick<StoreReader, "nodes">, leaseMs: number | undefined) {
    this.#clock = clock;
    this.#store = store;
    this.#leaseMs = leaseMs;
  }

  /** Whether the clock was set back since the last `handled`, and the nodes that live agree. */
  async isSetBack(): Promise<boolean> {
    const lead = this.#clock.now() - this.#clock.monotonic();
    if (lead < this.#lead - DRIFT_MS) this.#setBack = true;
    this.#lead = lead;
    return this.#setBack && (await this.#othersAgree());
  }

  handled(): void {
    this.#setBack = false;
  }

  /** A node that does not renew its lease for the length of one is not alive. */
  async #othersAgree(): Promise<boolean> {
    const leaseMs = this.#leaseMs;
    if (leaseMs === undefined) return true;
    const now = this.#clock.monotonic();
    const latest = this.#clock.now() + leaseMs + DRIFT_MS;
    let agree = true;
    for (const { node, left, leaseUntil } of await this.#store.nodes()) {
      if (left || leaseUntil <= latest) {
        this.#ahead.delete(node);
        continue;
      }
      const before = this.#ahead.get(node);
      const since = before?.leaseUntil === leaseUntil ? before.since : now;
      this.#ahead.set(node, { leaseUntil, since });
      if (now - since < leaseMs) agree = false;
    }
    return agree;
  }
}
