/** How long whoever was told to stop is waited for. What does not listen cannot keep a run from ending. */
import type { Clock } from "../../core/ports/clock.ts";

export interface Grace {
  /** Resolves `ms` after the signal, and never where there is none. */
  readonly over: Promise<undefined>;
  /** Forgets the wait; to be called when it is no longer needed. */
  cancel(): void;
}

export function graceAfter(clock: Clock, ms: number, signal: AbortSignal): Grace {
  let cancelTimer = (): void => {};
  let wait = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    wait = () => {
      cancelTimer = clock.after(ms, () => resolve(undefined));
    };
    if (signal.aborted) wait();
    else signal.addEventListener("abort", wait, { once: true });
  });
  return {
    over,
    cancel() {
      signal.removeEventListener("abort", wait);
      cancelTimer();
    },
  };
}
