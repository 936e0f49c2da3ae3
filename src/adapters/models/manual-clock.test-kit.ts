/** A clock that stands still until a test moves it. */
import type { Clock } from "../../core/ports/clock.ts";

export interface ManualClock extends Clock {
  /** Moves on and calls back whatever is due, in order. */
  advance(ms: number): void;
  readonly waiting: number;
}

export function manualClock(start = 1_700_000_000_000): ManualClock {
  let time = 0;
  let timers: { due: number; callback: () => void }[] = [];
  return {
    now: () => start + time,
    monotonic: () => time,
    after(ms, callback) {
      const timer = { due: time + Math.max(0, ms), callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      const until = time + ms;
      for (;;) {
        const next = timers.filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0];
        if (!next) break;
        timers = timers.filter((other) => other !== next);
        time = Math.max(time, next.due);
        next.callback();
      }
      time = until;
    },
    get waiting() {
      return timers.length;
    },
  };
}
