/**
 * Handles one update, however it came. What can never be handled is logged and skipped, so that it holds up no other one (L14); everything
 * else comes again (L1).
 */
import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";

export interface UpdateWork {
  readonly log: Log;
  readonly account: string;
  /** Durable when it resolves. May reject; the update comes again unless its content is refused. */
  handle(update: unknown): Promise<void>;
  onProblem(text: string): void;
}

export const idOf = (update: unknown): number | undefined => {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return Number.isSafeInteger(id) ? (id as number) : undefined;
};

/** The updates of one chat are handled in order, those of others beside them. */
export function orderOf(update: unknown): string {
  const chats = Object.values(
    (update ?? {}) as Record<string, { chat?: { id?: unknown }; message?: { chat?: { id?: unknown } } }>,
  );
  const chat = chats.map((one) => one?.chat?.id ?? one?.message?.chat?.id).find((id) => id !== undefined);
  return String(chat ?? "");
}

/** Refused by its content: it would be refused again. */
const FINAL: ReadonlySet<string> = new Set(["invalid_input", "too_large", "denied"]);
/** How often an update is tried that the code cannot read. Every other error may pass, such as that of a store that is away. */
const MAX_TRIES = 3;
const isUnreadable = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError) && !("retryable" in error && error.retryable === true);

/** False: it was not stored and must come again. `tries` counts how often each update that failed was tried. */
export async function handledOrSkipped(
  { handle, log, account, onProblem }: UpdateWork,
  update: unknown,
  tries: Map<number, number>,
): Promise<boolean> {
  const id = idOf(update) ?? 0;
  try {
    await handle(update);
    tries.delete(id);
    return true;
  } catch (error) {
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
