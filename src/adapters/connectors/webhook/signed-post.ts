/**
 * One signed request to an application's address. The signature covers the timestamp and the body, and every attempt has the id of what is
 * sent, so that a receiver which keeps ids handles each once.
 */
import { createHmac } from "node:crypto";
import { ConfigError, errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { SendResult } from "../../../core/ports/connector.ts";
import type { HttpAnswer, HttpPost } from "../../../core/ports/http-post.ts";
import { neverLeft } from "../chat/channel-call.ts";

interface SignedPost {
  readonly url: string;
  /** Throws a `ConfigError` if the secret is missing. */
  secret(): string;
  readonly id: string;
  readonly body: string;
}

interface PostDeps {
  readonly clock: Pick<Clock, "now">;
  readonly post: HttpPost;
}

const MAX_ANSWER = 1_000;
/** Refused for now, not for good. */
const LATER = new Set([408, 409, 423, 425, 429]);
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Never throws. */
export async function postSigned(
  { clock, post }: PostDeps,
  { url, secret, id, body }: SignedPost,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const headers = signed(secret(), id, Math.floor(clock.now() / 1_000), body);
    return await resultOf(await post(url, headers, body, signal), clock);
  } catch (error) {
    const left = !neverLeft((error as NodeJS.ErrnoException).code) && !(error instanceof ConfigError);
    return { status: left ? "unknown" : "retry", reason: errorText(error) };
  }
}

/** What a receiver checks: HMAC-SHA256 with the secret over `<timestamp>.<body>`. */
export const signatureOf = (secret: string, timestamp: number | string, body: string | Uint8Array): string =>
  createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");

const signed = (secret: string, id: string, timestamp: number, body: string): Record<string, string> => ({
  "content-type": "application/json",
  "idempotency-key": id,
  "x-rookery-delivery": id,
  "x-rookery-timestamp": String(timestamp),
  "x-rookery-signature": `v1=${signatureOf(secret, timestamp, body)}`,
});

async function resultOf(answer: HttpAnswer, clock: Pick<Clock, "now">): Promise<SendResult> {
  const { status } = answer;
  const text = await bounded(answer);
  if (status >= 200 && status < 300) return { status: "sent" };
  const reason = `answered ${status}${text === "" ? "" : `: ${text.slice(0, 200)}`}`;
  if (status >= 500) return { status: "unknown", reason };
  if (!LATER.has(status)) return { status: "refused", reason };
  return { status: "retry", reason, afterMs: retryAfter(answer.header("retry-after"), clock) };
}

/** Reads the rest of the answer, so that the connection can be used again, and keeps its beginning. */
async function bounded(answer: HttpAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let kept = 0;
  await answer.read((chunk) => {
    if (kept < MAX_ANSWER) chunks.push(chunk);
    kept += chunk.length;
    if (kept > 64 * MAX_ANSWER) throw new RangeError("The answer of the webhook is too long.");
  });
  return new TextDecoder().decode(Buffer.concat(chunks)).slice(0, MAX_ANSWER).trim();
}

/** Seconds or a date; undefined if neither. */
function retryAfter(text: string | undefined, clock: Pick<Clock, "now">): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
