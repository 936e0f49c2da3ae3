/** Tells the server where to bring updates, and asks it from time to time whether it could: only the server knows that it cannot reach us. */
import { ChannelUnavailableError, ConfigError } from "../../../core/errors.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import type { BotApi } from "./bot-api.ts";
import { ALLOWED_UPDATES } from "./poll-updates.ts";
import { SECRET_FORM } from "./receive-updates.ts";

export interface Webhook {
  readonly url: string;
  readonly secret: string;
}

interface WatchDeps {
  readonly api: BotApi;
  readonly clock: Clock;
  onProblem(text: string): void;
  onAnswer(): void;
}

const LOOK_EVERY_MS = 60_000;
const AT_ONCE = 40;

export async function setWebhook(api: BotApi, { url, secret }: Webhook, signal: AbortSignal): Promise<void> {
  if (!SECRET_FORM.test(secret)) {
    throw new ConfigError("The secret of the webhook has characters that Telegram does not take.", {
      hint: "Use up to 256 letters, digits, _ and -.",
    });
  }
  const args = { url, secret_token: secret, allowed_updates: [...ALLOWED_UPDATES], max_connections: AT_ONCE };
  const call = await api.call("setWebhook", args, signal);
  if (call.status === "refused" && call.code === 400) {
    throw new ConfigError(`Telegram does not take ${url} as a webhook: ${call.reason}`, {
      hint: "It must be a public https address that reaches this gateway.",
    });
  }
  if (call.status !== "ok") throw new ChannelUnavailableError(`Telegram cannot be reached: ${call.reason}`);
}

/** Resolves when the signal aborts. Never rejects. */
export async function watchWebhook(
  { api, clock, onProblem, onAnswer }: WatchDeps,
  webhook: Webhook,
  signal: AbortSignal,
): Promise<void> {
  /** When the server last failed to reach us, as it says. */
  let failedAt: number | undefined;
  for (;;) {
    await sleep(clock, LOOK_EVERY_MS, signal);
    if (signal.aborted) return;
    const call = await api.call("getWebhookInfo", undefined as never, signal);
    if (signal.aborted) return;
    if (call.status !== "ok") {
      onProblem(call.reason);
      continue;
    }
    const { url, last_error_date: at, last_error_message: why, pending_update_count: waiting } = call.result;
    if (url !== webhook.url) {
      onProblem("another program has taken the updates of this bot; its webhook is set again");
      await setWebhook(api, webhook, signal).catch(() => undefined);
    } else if (at !== undefined && at !== failedAt && waiting > 0) {
      failedAt = at;
      onProblem(`Telegram cannot bring ${waiting} updates to ${url}: ${why ?? "no reason given"}`);
    } else onAnswer();
  }
}
