/**
 * Asks the server for updates, one request after the other. The next request confirms all updates before its offset, so the offset
 * moves only behind updates that were handled, and those are committed. After a crash the same updates come again.
 */
import type { Clock } from "../../../core/ports/clock.ts";
import { sleep } from "../../../core/ports/clock.ts";
import { type EventWork, handledOrSkipped } from "../chat/event-work.ts";
import type { BotApi } from "./bot-api.ts";
import { idOf, orderOf } from "./update-id.ts";

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

interface PollDeps extends EventWork {
  /** Durable when it resolves. May reject; the update comes again unless its content is refused. */
  handle(update: unknown): Promise<void>;
  readonly api: BotApi;
  readonly clock: Clock;
  readonly timeoutSeconds: number;
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

/** The next offset: behind the last update before the first one that failed. Undefined if no update has an id. */
async function handleAll(
  deps: PollDeps,
  updates: readonly unknown[],
  tries: Map<number, number>,
): Promise<number | undefined> {
  const byOrder = Map.groupBy(updates, orderOf);
  const failed: number[] = [];
  await Promise.all(
    [...byOrder.values()].map(async (ofOne) => {
      for (const update of ofOne) {
        if (await handledOrSkipped(deps, idOf(update) ?? 0, () => deps.handle(update), tries)) continue;
        failed.push(idOf(update) ?? Number.POSITIVE_INFINITY);
        return;
      }
    }),
  );
  const ids = updates.map(idOf).filter((id) => id !== undefined);
  if (ids.length === 0) return undefined;
  return failed.length > 0 ? Math.min(...failed) : Math.max(...ids) + 1;
}
