/**
 * Reports long work to a person at a terminal: a line for each step, and a line every few seconds while a step lasts.
 * Nothing is written into a pipe or beside a JSON document.
 */
import { backgroundInterval } from "../../adapters/system/background-timers.ts";
import type { CommandContext } from "./command.ts";
import { durationText } from "./relative-time.ts";

interface Progress extends Disposable {
  /** A new step begins. */
  step(text: string): void;
  /** Writes nothing until the next step: a person is asked something. */
  pause(): void;
}

const EVERY_MS = 5_000;

interface Ticks {
  now(): number;
  /** Calls again and again until the returned function is called. */
  every(ms: number, call: () => void): () => void;
}

const SYSTEM_TICKS: Ticks = {
  now: () => performance.now(),
  every(ms, call) {
    const timer = backgroundInterval(call, ms);
    return () => clearInterval(timer);
  },
};

/** Dispose it when the work has ended. */
export function progressOf(
  { json, stderr }: Pick<CommandContext, "json" | "stderr">,
  ticks: Ticks = SYSTEM_TICKS,
): Progress {
  if (json || !stderr.isTTY) return { step() {}, pause() {}, [Symbol.dispose]() {} };
  const began = ticks.now();
  let stop = (): void => {};
  return {
    step(text) {
      stop();
      stderr.write(`${text}\n`);
      stop = ticks.every(
        EVERY_MS,
        () => void stderr.write(`  … still working, ${durationText(ticks.now() - began)} so far\n`),
      );
    },
    pause: () => stop(),
    [Symbol.dispose]: () => stop(),
  };
}
