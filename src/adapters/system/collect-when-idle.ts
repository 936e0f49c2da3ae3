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

const IDLE_MS = 400;
/** A collection takes some hundredths of a second. Less work than this since the last one is not worth it. */
const MIN_WORK = 50;

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void;

export function collectWhenIdle(clock: Clock, collect: () => void = collectAll): IdleCollector {
  let last = 0;
  let work = 0;
  let cancel: (() => void) | undefined;
  const check = (): void => {
    const left = last + IDLE_MS - clock.monotonic();
    if (left > 0) {
      cancel = clock.after(left, check);
      return;
    }
    cancel = undefined;
    if (work < MIN_WORK) return;
    work = 0;
    collect();
  };
  return {
    worked() {
      last = clock.monotonic();
      work += 1;
      cancel ??= clock.after(IDLE_MS, check);
    },
    stop: () => cancel?.(),
  };
}

let known: Collect | undefined;

function collectAll(): void {
  if (!known) {
    setFlagsFromString("--expose-gc");
    known = runInNewContext("gc") as Collect;
  }
  known({ type: "major", flavor: "last-resort" });
}
