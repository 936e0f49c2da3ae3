/**
 * Gives memory back to the machine when the work has paused. By itself V8 keeps what a busy moment needed, for the next one;
 * an engine that mostly waits should not. Costs nothing while there is work, and nothing while there is none.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../../core/ports/clock.ts";

export interface Trimmer {
  /** There was work. */
  touched(): void;
  stop(): void;
}

const QUIET_MS = 400;
/** So much must have been done since the last time for it to be worth a pause of some hundredths of a second. */
const WORTH_TOUCHES = 50;

type Collect = (options: { readonly type: "major"; readonly flavor: "last-resort" }) => void;

export function trimWhenQuiet(clock: Clock, collect: () => void = collectAll): Trimmer {
  let last = 0;
  let touches = 0;
  let cancel: (() => void) | undefined;
  const look = (): void => {
    const left = last + QUIET_MS - clock.monotonic();
    if (left > 0) {
      cancel = clock.after(left, look);
      return;
    }
    cancel = undefined;
    if (touches < WORTH_TOUCHES) return;
    touches = 0;
    collect();
  };
  return {
    touched() {
      last = clock.monotonic();
      touches += 1;
      cancel ??= clock.after(QUIET_MS, look);
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
