/**
 * Keeps the process alive while a promise of the public face is pending (M49). Node ends a process with code 13 when nothing but a
 * promise is left: unreferenced timers, threads and the timer of `AbortSignal.timeout` do not count.
 */

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Returns the function that lets the process end. */
export function holdProcess(): () => void {
  const timer = setInterval(() => {}, LONGEST_TIMER_MS);
  return () => clearInterval(timer);
}
