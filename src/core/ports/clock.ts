/**
 * Time. Everything that waits or reads the time uses this port, so that the simulation controls time.
 * Wall time is for people and records, monotonic time for measuring and leases (M23).
 */
export interface Clock {
  /** Milliseconds since the epoch; may jump. */
  now(): number;
  /** Milliseconds since some start; never jumps. */
  monotonic(): number;
  /** Calls back once, not before `ms` have passed. Returns how to cancel. Far times do not overflow. */
  after(ms: number, callback: () => void): () => void;
}

/** Resolves after `ms`, or at once when the signal aborts. The result says which. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<"slept" | "aborted"> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve("aborted");
    const onAbort = (): void => {
      cancel();
      resolve("aborted");
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve("slept");
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
