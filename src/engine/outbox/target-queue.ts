/**
 * The order of sending: one turn at a time per target, a bounded number of turns at once over all targets. A target that
 * has to wait blocks only itself (M17).
 */

import type { NewDelivery } from "../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";

/** A target with deliveries to send, and what this process remembers about it as long as it has some. */
export interface Target {
  readonly key: string;
  /** The delivery to send first, as it was committed, if the store said that no other delivery waits for this target. */
  first?: NewDelivery;
  /** Set when the store was read for this target: it may hold more deliveries than this process has added. */
  isRead?: boolean;
  /** The delivery whose retry delay has passed, or is passing, in this process. */
  waited?: DeliveryId;
  /** The delivery whose retry delay began before this process, and since when this process has seen it (monotonic). */
  delayed?: { readonly id: DeliveryId; readonly since: number };
  /** The delivery whose outcome this process could not learn, and why. */
  unknown?: { readonly id: DeliveryId; readonly reason: string };
  /** The delivery the channel was asked about, how often, and since when (monotonic). */
  lookups?: { readonly id: DeliveryId; readonly times: number; readonly since: number };
  /** A send of another node whose lease has ended, and since when this node has seen it so (monotonic). */
  silentSender?: { readonly id: DeliveryId; readonly attempts: number; readonly since: number };
}

/**
 * What comes after a turn: another turn, another turn after a wait, or none until the target is added again. `unlessAdded`: another
 * turn at once if the target was added during this one.
 */
export type Turn =
  | { readonly next: "turn" | "nothing" }
  | { readonly next: "wait"; readonly ms: number; readonly unlessAdded?: true };

interface QueuedTarget extends Target {
  /** Added again while its turn was under way. */
  addedAgain: boolean;
  cancelTimer?: () => void;
}

export class TargetQueue {
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #takeTurn: (target: Target) => Promise<Turn>;
  readonly #targets = new Map<string, QueuedTarget>();
  readonly #ready: QueuedTarget[] = [];
  #active = 0;
  #stopped = false;
  #whenIdle: (() => void)[] = [];

  /** `takeTurn` must not throw. */
  constructor(clock: Clock, concurrency: number, takeTurn: (target: Target) => Promise<Turn>) {
    this.#clock = clock;
    this.#concurrency = concurrency;
    this.#takeTurn = takeTurn;
  }

  get size(): number {
    return this.#targets.size;
  }

  /** A target that waits keeps waiting; one whose turn is under way gets another one afterwards. */
  add(key: string, first?: NewDelivery): void {
    if (this.#stopped) return;
    const known = this.#targets.get(key);
    if (known) {
      known.addedAgain = true;
      return;
    }
    const target: QueuedTarget = { key, first, addedAgain: false };
    this.#targets.set(key, target);
    this.#makeReady(target);
  }

  /** Adds a target, and ends its wait if it has one. */
  interruptWait(key: string): void {
    if (this.#stopped) return;
    const known = this.#targets.get(key);
    if (!known?.cancelTimer) {
      this.add(key);
      return;
    }
    known.cancelTimer();
    known.cancelTimer = undefined;
    this.#makeReady(known);
  }

  /** Resolves when no turn is under way or ready. Targets may still wait for a later time. */
  idle(): Promise<void> {
    if (this.#active === 0 && this.#ready.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Begins no more turns, and resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const target of this.#targets.values()) target.cancelTimer?.();
    this.#ready.length = 0;
    await this.idle();
  }

  #makeReady(target: QueuedTarget): void {
    this.#ready.push(target);
    this.#startTurns();
  }

  #startTurns(): void {
    while (this.#active < this.#concurrency) {
      const target = this.#ready.shift();
      if (!target) break;
      this.#active += 1;
      void this.#turn(target);
    }
  }

  async #turn(target: QueuedTarget): Promise<void> {
    target.addedAgain = false;
    const turn = await this.#takeTurn(target);
    this.#active -= 1;
    if (turn.next === "nothing" && !target.addedAgain) this.#targets.delete(target.key);
    else if (!this.#stopped) {
      if (turn.next === "wait" && !(turn.unlessAdded && target.addedAgain)) this.#wait(target, turn.ms);
      else this.#makeReady(target);
    }
    this.#startTurns();
    if (this.#active === 0 && this.#ready.length === 0) {
      for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  #wait(target: QueuedTarget, ms: number): void {
    target.cancelTimer = this.#clock.after(ms, () => {
      target.cancelTimer = undefined;
      this.#makeReady(target);
    });
  }
}
