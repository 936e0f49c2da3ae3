/**
 * The watchdog's decision, tick by tick. It counts its own ticks and not the clock: a suspended machine stops the watchdog and
 * the engine alike, and after it wakes both continue.
 */

export interface WatchLimits {
  readonly tickMs: number;
  /** 0: a blocked thread is not ended. */
  readonly blockedMs: number;
  readonly drainMs: number;
}

interface Look {
  readonly beats: number;
  readonly draining: boolean;
}

/** Returns a function to call at every tick. It answers why the process must end, or undefined. */
export function watching({ tickMs, blockedMs, drainMs }: WatchLimits): (look: Look) => "blocked" | "drain" | undefined {
  let seen = -1;
  let silent = 0;
  let drained = 0;
  return ({ beats, draining }) => {
    silent = beats === seen ? silent + 1 : 0;
    seen = beats;
    drained = draining ? drained + 1 : 0;
    if (blockedMs > 0 && silent * tickMs >= blockedMs) return "blocked";
    return drained * tickMs >= drainMs ? "drain" : undefined;
  };
}
