/**
 * Asks the server for updates, one request after the other. The next request confirms all updates before its offset, so the offset
 * moves only behind updates that were handled, and those are committed. After a crash the same updates come again.
 */
import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import { sleep } from "../../../core/ports/clock.ts";
import type { Log } from "../../../core/ports/log.ts";
import type { BotApi } from "./bot-api.ts";

/** What the bot is told. Reactions come only if they are named. */
export const ALLOWED_UPDATES = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "callback_query",
  "message_reaction",
  "stopped_message_generation",
] as const;

export interface PollDeps {
  readonly api: BotApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly account: string;
  readonly timeoutSeconds: number;
  /** Durable when it resolves. May reject; the update comes again if the error is `retryable`. */
  handle(update: unknown): Promise<void>;
  /** The updates of one conversation are handled in order, those of others beside them. */
  orderOf(update: unknown): string;
  onProblem(text: string): void;
  onAnswer(): void;
}

const PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const BATCH = 100;

/** Resolves when the signal aborts. Never rejects. */
export async function pollUpdates(deps: PollDeps, signal: AbortSignal): Promise<void> {
  const { api, clock, timeoutSeconds } = deps;
  let offset: number | undefined;
  /** How often each update that failed was tried. */
  const tries = new Map<number, number>();
  let failures = 0;
  while (!signal.aborted) {
    const args = { offset, limit: BATCH, timeout: timeoutSeconds, allowed_updates: [...ALLOWED_UPDATES] };
    const call = await api.call("getUpdates", args, signal);
    if (signal.aborted) return;
    if (call.status === "ok") {
      deps.onAnswer();
      const updates = Array.isArray(call.result) ? (call.result as readonly unknown[]) : [];
      const next = await handleAll(deps, updates, tries);
      const moved = next !== undefined && next !== offset;
      failures = moved || updates.length === 0 ? 0 : failures + 1;
      offset = next ?? offset;
      if (failures > 0) await sleep(clock, pauseOf(failures), signal);
      continue;
    }
    failures += 1;
    deps.onProblem(problemText(call));
    const asked = call.status === "refused" ? call.retryAfterMs : undefined;
    await sleep(clock, Math.max(asked ?? 0, pauseOf(failures)), signal);
  }
}

const pauseOf = (failures: number): number => Math.min(PAUSE_MS * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE_MS);

function problemText(call: { readonly status: string; readonly reason: string; readonly code?: number }): string {
  if (call.code === 409) return `another program receives the messages of this bot: ${call.reason}`;
  if (call.code === 401) return `the token is not valid: ${call.reason}`;
  return call.reason;
}

const idOf = (update: unknown): number | undefined => {
  const id = (update as { update_id?: unknown } | null)?.update_id;
  return Number.isSafeInteger(id) ? (id as number) : undefined;
};

/** The next offset: behind the last update before the first one that failed. Undefined if no update has an id. */
async function handleAll(
  deps: PollDeps,
  updates: readonly unknown[],
  tries: Map<number, number>,
): Promise<number | undefined> {
  const byOrder = Map.groupBy(updates, deps.orderOf);
  const failed: number[] = [];
  await Promise.all(
    [...byOrder.values()].map(async (ofOne) => {
      for (const update of ofOne) {
        if (await handledOrSkipped(deps, update, tries)) continue;
        failed.push(idOf(update) ?? Number.POSITIVE_INFINITY);
        return;
      }
    }),
  );
  const ids = updates.map(idOf).filter((id) => id !== undefined);
  if (ids.length === 0) return undefined;
  return failed.length > 0 ? Math.min(...failed) : Math.max(...ids) + 1;
}

/** Refused by its content: it would be refused again. */
const FINAL: ReadonlySet<string> = new Set(["invalid_input", "too_large", "denied"]);
/** How often an update is tried that the code cannot read. Every other error may pass, such as that of a store that is away. */
const MAX_TRIES = 3;
const isUnreadable = (error: unknown): boolean =>
  (error instanceof TypeError || error instanceof RangeError) && !("retryable" in error && error.retryable === true);

/** An update that can never be handled is logged and skipped; it must not hold up the others (L14). */
async function handledOrSkipped(deps: PollDeps, update: unknown, tries: Map<number, number>): Promise<boolean> {
  const { handle, log, account, onProblem } = deps;
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
