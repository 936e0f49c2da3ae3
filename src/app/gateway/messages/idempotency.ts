/** Idempotency keys of accepting routes (M18): the same key and request is the same message, for 24 hours. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Posted } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import type { Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";

/** The part of a call that identifies a request. */
export interface KeyedRequest {
  readonly principal: Principal;
  /** The body, unparsed. */
  readonly raw: Buffer;
  readonly incoming: IncomingMessage;
  header(name: string): string | undefined;
}

export const KEY_HORIZON_MS = 24 * 3600_000;
const MAX_KEY = 255;

/** The deduplication key of the message; undefined if the caller sent no `Idempotency-Key`. */
export function idempotencyKey({ header, principal }: KeyedRequest): string | undefined {
  const key = header("idempotency-key");
  if (key === undefined) return undefined;
  if (key === "" || key.length > MAX_KEY) {
    throw new HttpError(400, "invalid_input", `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
  }
  return `api:${principal.id}:${createHash("sha256").update(key).digest("hex")}`;
}

/** Two requests are the same if their URL and body are. */
export const requestHash = ({ raw, incoming }: KeyedRequest): string =>
  createHash("sha256")
    .update(incoming.url ?? "")
    .update("\n")
    .update(raw)
    .digest("hex");

/** Throws a 422 if the key belongs to a message with another URL or body. */
export async function assertSameRequest(
  store: Pick<Store, "message">,
  { agentId, seq }: Pick<Posted, "agentId" | "seq">,
  hash: string,
): Promise<void> {
  const message = await store.message(agentId, seq);
  if (!message || message.source?.messageId === hash) return;
  throw new HttpError(422, "idempotency_key_reused", "This Idempotency-Key was used with another request.", {
    hint: "Use a new key for a new request.",
  });
}
