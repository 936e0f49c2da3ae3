/** What identifies an HTTP request in the ledger (M18): its `Idempotency-Key`, or its content. Both are digests of the whole. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { ContentEntry, KeyedEntry } from "../../../core/store/request.ts";
import type { Principal } from "../auth/principal.ts";
import { HttpError } from "../http/http-error.ts";

/** The part of a call that identifies it. */
export interface IdentifiedRequest {
  readonly principal: Principal;
  /** The body, unparsed. */
  readonly raw: Buffer;
  readonly incoming: IncomingMessage;
  header(name: string): string | undefined;
}

const KEPT_MS = 24 * 3600_000;
const MAX_KEY = 255;

/** Undefined without an `Idempotency-Key`. Keys of two tokens are independent. */
export function keyedEntry(request: IdentifiedRequest, now: number): KeyedEntry | undefined {
  const { header, principal, incoming, raw } = request;
  const key = header("idempotency-key");
  if (key === undefined) return undefined;
  if (key === "" || key.length > MAX_KEY) {
    throw new HttpError(400, "invalid_input", `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
  }
  return {
    by: "key",
    key: `api:${principal.id}:${createHash("sha256").update(key).digest("hex")}`,
    digest: digestOf([incoming.method ?? "", incoming.url ?? ""], raw),
    keepUntil: now + KEPT_MS,
  };
}

/** A request without a key, by its token, conversation and body. */
export function contentEntry(request: IdentifiedRequest, conversation: string, now: number): ContentEntry {
  const { header, principal, raw } = request;
  return {
    by: "content",
    key: `same:${principal.id}:${digestOf([conversation], raw)}`,
    // The official clients count their retries in this header.
    isRetry: Number(header("x-stainless-retry-count") ?? 0) > 0,
    keepUntil: now + KEPT_MS,
  };
}

const digestOf = (parts: readonly string[], raw: Buffer): string =>
  createHash("sha256").update(JSON.stringify(parts)).update(raw).digest("hex");
