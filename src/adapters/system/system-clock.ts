/** The real clock. A long wait uses several timers, because a Node timer overflows after 24.8 days. */
import type { Clock } from "../../core/ports/clock.ts";

const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const due = performance.now() + ms;
    const arm = (left: number): void => {
      timer = setTimeout(
        () => {
          const rest = due - performance.now();
          if (rest > 1) arm(rest);
          else callback();
        },
        Math.min(Math.max(0, left), MAX_TIMER_MS),
      );
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};
