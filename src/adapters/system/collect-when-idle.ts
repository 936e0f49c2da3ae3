/**
 * Returns memory to the system when work pauses, by one full garbage collection. By default V8 keeps the memory of a busy
 * moment for the next one; an engine that mostly waits should not. It costs nothing during work and nothing while idle.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../core/ports/clock.ts";

interface IdleCollector {
  /** Call it for each piece of work. */
  worked(): void;
  stop(): void;
}

/** A collection takes some hundredths of a second. After little work, such as a start, it waits until there may be no more for long. */
const MUCH_WORK = 50;
const IDLE_MS = { muchWork: 400, littleWork: 10_000 };

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void;

export function collectWhenIdle(clock: Clock, collect: () => void = collectAll): IdleCollector {
  let last = clock.monotonic();
  let work = 0;
  // The start itself is work.
  let cancel: (() => void) | undefined = clock.after(IDLE_MS.littleWork, () => check());
  const check = (): void => {
    const left = last + (work < MUCH_WORK ? IDLE_MS.littleWork : IDLE_MS.muchWork) - clock.monotonic();
    cancel = left > 0 ? clock.after(left, check) : undefined;
    if (left > 0) return;
    work = 0;
    collect();
  };
  return {
    worked() {
      last = clock.monotonic();
      work += 1;
      if (cancel && work !== MUCH_WORK) return;
      cancel?.();
      cancel = clock.after(IDLE_MS.muchWork, check);
    },
    stop: () => cancel?.(),
  };
}

let known: Collect | undefined = globalThis.gc;

/** Collects all garbage of the calling thread and returns the memory to the system. */
function collectAll(): void {
  if (!known) {
    setFlagsFromString("--expose-gc");
    known = runInNewContext("gc") as Collect;
  }
  known({ type: "major", flavor: "last-resort" });
}
