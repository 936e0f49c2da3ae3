/** Tries until the engine answers: it may be killed and come back. */
import { setTimeout as pause } from "node:timers/promises";
import { RookeryError } from "../../../core/errors.ts";

const RETRY_MS = 300;

/** Rejects if the engine refuses, or the signal aborts. */
export async function insist<T>(ask: () => Promise<T>, signal: AbortSignal, onLost: () => void): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !(error instanceof RookeryError && error.retryable)) throw error;
      onLost();
      await pause(RETRY_MS);
    }
  }
}
