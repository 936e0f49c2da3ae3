/**
 * Handles one event of a channel, however it came. What can never be handled is logged and skipped, so that it holds up no other one
 * (L14); everything else comes again (L1). The events of one chat are handled in the order in which they come.
 */
import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";

export interface EventWork {
  readonly log: Log;
  readonly account: string;
  onProblem(text: string): void;
}

/** Refused by its content: it would be refused again. */
const FINAL: ReadonlySet<string> = new Set(["invalid_input", "too_large", "denied"]);
/** How often an event is tried that the code cannot read. Every other error may pass, such as that of a store that is away. */
const MAX_TRIES = 3;
/** Events that failed before, of which the tries are counted. */
const MAX_COUNTED = 1_000;
const isUnreadable = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError) && !("retryable" in error && error.retryable === true);

/** False: it was not stored and must come again. `tries` counts how often each event that failed was tried. */
export async function handledOrSkipped<Id extends string | number>(
  { log, account, onProblem }: EventWork,
  id: Id,
  handle: () => Promise<void>,
  tries: Map<Id, number>,
): Promise<boolean> {
  try {
    await handle();
    tries.delete(id);
    return true;
  } catch (error) {
    if (tries.size > MAX_COUNTED) tries.clear();
    const times = (tries.get(id) ?? 0) + 1;
    tries.set(id, times);
    const isFinal = error instanceof RookeryError ? FINAL.has(error.code) : isUnreadable(error) && times >= MAX_TRIES;
    if (isFinal) tries.delete(id);
    onProblem(errorText(error));
    const message = isFinal
      ? "an update cannot be handled and is skipped"
      : "an update was not stored; it will come again";
    log.warn(message, { account, update: id, error: errorText(error) });
    return isFinal;
  }
}

/** Runs the work of one chat one after the other, that of other chats beside it. */
export function chatOrder(): <T>(chat: string, run: () => Promise<T>) => Promise<T> {
  /** The last work of each chat that is not over. */
  const latest = new Map<string, Promise<unknown>>();
  return async (chat, run) => {
    const before = latest.get(chat);
    const now = (before ?? Promise.resolve()).then(run);
    const ended = now.catch(() => undefined);
    latest.set(chat, ended);
    try {
      return await now;
    } finally {
      if (latest.get(chat) === ended) latest.delete(chat);
    }
  };
}
