/**
 * The waits of this node, by key. Every wait settles: with its result, or with a typed error when its time is up, its run ends
 * or the program stops. The store records which agent waits for which (M11).
 */

import { AbortedError, type RookeryError, SuspendedError, TimeoutError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";

interface WaitOptions {
  readonly timeoutMs: number;
  /** Ends the wait with `AbortedError`. */
  readonly signal?: AbortSignal;
  /** A run's wait: it is suspended with its run when the program stops, and begins again after the restart. */
  readonly ofRun?: boolean;
}

interface Waiter<Result> {
  readonly ofRun: boolean;
  settle(result: Result): void;
  fail(error: RookeryError): void;
}

export class Waits<Result> {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Set<Waiter<Result>>>();
  #stopping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for a key to be settled. */
  wait(key: string, { timeoutMs, signal, ofRun = false }: WaitOptions): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const waiters = this.#waiters.get(key) ?? new Set();
      this.#waiters.set(key, waiters);
      const leave = (): void => {
        cancel();
        signal?.removeEventListener("abort", aborted);
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(key);
      };
      const waiter: Waiter<Result> = {
        ofRun,
        settle(result) {
          leave();
          resolve(result);
        },
        fail(error) {
          leave();
          reject(error);
        },
      };
      const aborted = (): void => waiter.fail(new AbortedError("The run that waited has ended."));
      const late = (): void =>
        waiter.fail(
          new TimeoutError(`No answer within ${timeoutMs} ms.`, {
            hint: "The message stays accepted and will still be answered.",
          }),
        );
      const cancel = this.#clock.after(timeoutMs, late);
      waiters.add(waiter);
      signal?.addEventListener("abort", aborted, { once: true });
      if (signal?.aborted) aborted();
      else if (ofRun && this.#stopping) waiter.fail(suspend());
    });
  }

  settle(key: string, result: Result): void {
    for (const waiter of [...(this.#waiters.get(key) ?? [])]) waiter.settle(result);
  }

  /** The program stops: the waits of runs end now, and no new one begins. */
  suspend(): void {
    this.#stopping = true;
    for (const waiters of [...this.#waiters.values()]) {
      for (const waiter of [...waiters]) if (waiter.ofRun) waiter.fail(suspend());
    }
  }

  /** Ends every wait: this process has stopped working. */
  abandon(): void {
    const hint = "The message stays accepted and will be answered after the restart.";
    for (const waiters of [...this.#waiters.values()]) {
      for (const waiter of [...waiters]) waiter.fail(new TimeoutError("The process is stopping.", { hint }));
    }
  }

  has(key: string): boolean {
    return this.#waiters.has(key);
  }

  keys(): readonly string[] {
    return [...this.#waiters.keys()];
  }
}

const suspend = (): SuspendedError =>
  new SuspendedError("The program is stopping.", { hint: "The wait continues after the restart." });
