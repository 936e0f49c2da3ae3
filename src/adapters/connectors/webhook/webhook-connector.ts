/**
 * Sends what would wait in a mailbox to an application's own address instead. Signed with a timestamp, retried by the outbox,
 * and idempotent: every attempt has the delivery's id, so that a receiver which keeps ids handles each once (M27).
 */
import { createHmac } from "node:crypto";
import { contentOf, type DeliveryContext } from "../../../core/delivery/delivery.ts";
import { API_CHANNEL, OWNER_MAILBOX, PERSON_CHANNEL } from "../../../core/delivery/route.ts";
import { ConfigError, errorText } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { Connector, OutgoingDelivery, SendResult } from "../../../core/ports/connector.ts";
import type { HttpAnswer, HttpPost } from "../../../core/ports/http-post.ts";

/** One configured address. Which deliveries it takes: those for these users, for the owner, or of agents of these profiles. */
export interface WebhookTarget {
  readonly url: string;
  /** Throws if the secret is missing. */
  secret(): string;
  readonly users: readonly string[];
  readonly owner: boolean;
  readonly profiles: readonly string[];
}

export const WEBHOOK_CHANNEL = "webhook";
const MAX_ANSWER = 1_000;
/** Refused for now, not for good. */
const LATER = new Set([408, 409, 423, 425, 429]);
/** The connection was never made, so the receiver cannot have it. */
const NEVER_LEFT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

export interface WebhookDeps {
  readonly clock: Pick<Clock, "now">;
  readonly post: HttpPost;
  /** By name. Read at each use: the configuration may change. */
  targets(): ReadonlyMap<string, WebhookTarget>;
}

export function webhookConnector({ clock, post, targets }: WebhookDeps): Connector {
  return {
    name: WEBHOOK_CHANNEL,
    // It names the files; the application loads them from the gateway.
    capabilities: { sendText: true, sendFiles: { modes: ["document"] } },
    sendingClass: "idempotent",
    takesOver: (target, profile) => takenOver(targets(), target, profile),
    start: async () => {},
    stop: async () => {},
    health: () => ({ ok: true, detail: `${targets().size} addresses` }),
    async send(delivery, signal) {
      const { accountId = "" } = delivery.target;
      const target = targets().get(accountId);
      if (!target) return { status: "retry", reason: `There is no webhook "${accountId}" in the configuration.` };
      try {
        const body = bodyOf(delivery);
        const headers = signed(target.secret(), delivery.id, Math.floor(clock.now() / 1_000), body);
        return await resultOf(await post(target.url, headers, body, signal), clock);
      } catch (error) {
        const reason = errorText(error);
        const code = (error as NodeJS.ErrnoException).code ?? "";
        const left = !NEVER_LEFT.has(code) && !(error instanceof ConfigError);
        return { status: left ? "unknown" : "retry", reason };
      }
    },
  };
}

/** The address of the webhook that a delivery goes to; undefined if it stays in its mailbox. */
function takenOver(
  targets: ReadonlyMap<string, WebhookTarget>,
  target: DeliveryContext,
  profile: string | undefined,
): DeliveryContext | undefined {
  const reader = readerOf(target);
  if (reader === undefined) return undefined;
  for (const [name, { users, owner, profiles }] of targets) {
    const isOwners = reader.owner && owner;
    const isUsers = !reader.owner && users.includes(reader.name);
    if (isOwners || isUsers || (profile !== undefined && profiles.includes(profile))) {
      return { channel: WEBHOOK_CHANNEL, accountId: name, to: reader.name };
    }
  }
  return undefined;
}

/** Whose mailbox an address is; undefined if it is none. */
function readerOf({ channel, accountId, to }: DeliveryContext): { name: string; owner: boolean } | undefined {
  if (channel === API_CHANNEL && to !== undefined) {
    const owner = accountId === OWNER_MAILBOX.accountId && to === OWNER_MAILBOX.to;
    return owner || accountId === undefined ? { name: to, owner } : undefined;
  }
  if (channel !== PERSON_CHANNEL || to === undefined) return undefined;
  if (to === OWNER_MAILBOX.to) return { name: to, owner: true };
  return to.startsWith(`${API_CHANNEL}:`) ? { name: to.slice(API_CHANNEL.length + 1), owner: false } : undefined;
}

function bodyOf({ id, target, payload }: OutgoingDelivery): string {
  return JSON.stringify({ id, to: target.to, ...contentOf(payload) });
}

/** What a receiver checks: HMAC-SHA256 with the secret over `<timestamp>.<body>`. */
export const signatureOf = (secret: string, timestamp: number, body: string): string =>
  createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");

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

const MAX_RETRY_AFTER_MS = 3_600_000;

/** Seconds or a date; undefined if neither. */
function retryAfter(text: string | undefined, clock: Pick<Clock, "now">): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - clock.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
