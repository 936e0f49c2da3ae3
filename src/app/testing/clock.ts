/** The clock of every test: time stands still until the test moves it. */
import type { Clock } from "../../core/ports/clock.ts";
import { eventQueue } from "./event-queue.ts";

export interface VirtualClock extends Clock {
  /** Moves to each timer that is due, in order, and calls it. Awaits `settle` before the first and after each. */
  advance(ms: number, settle?: () => Promise<void>): Promise<void>;
  /** The same without waiting for anything in between. */
  advanceSync(ms: number): void;
  /** Moves the wall clock without calling timers, as an operator or a time server does. */
  jump(ms: number): void;
  /** How many timers are set. */
  readonly timers: number;
}

/** Where the wall clock starts. */
export const START = Date.parse("2026-01-05T09:00:00Z");

export function virtualClock(start = START): VirtualClock {
  const queue = eventQueue();
  let time = 0;
  let offset = start;
  /** Calls the next timer that is due. Returns whether there was one. */
  const step = (until: number): boolean => {
    const next = queue.take(until);
    if (!next) return false;
    time = next.time;
    next.run();
    return true;
  };
  return {
    now: () => offset + time,
    monotonic: () => time,
    after: (ms, callback) => queue.add(time + Math.max(0, ms), callback),
    async advance(ms, settle = async () => {}) {
      const until = time + ms;
      await settle();
      while (step(until)) await settle();
      time = until;
    },
    advanceSync(ms) {
      const until = time + ms;
      while (step(until));
      time = until;
    },
    jump(ms) {
      offset += ms;
    },
    get timers() {
      return queue.size;
    },
  };
}
