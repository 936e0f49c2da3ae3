/** Sends what a handler returned, or the error it threw, as the one answer to a request. */
import type { ServerResponse } from "node:http";
import { errorText, RookeryError } from "../../../core/errors.ts";
import type { Log } from "../../../core/ports/log.ts";
import { errorBody, retryAfterMs, statusOf } from "./http-error.ts";

/** The return value of a handler: a JSON document, a text, bytes, or `ANSWERED` if it wrote the response itself. */
export type Reply =
  | { readonly status?: number; readonly json: unknown; readonly headers?: Headers }
  | { readonly status?: number; readonly text: string; readonly type: string; readonly headers?: Headers }
  | { readonly status?: number; readonly bytes: Uint8Array; readonly type: string; readonly headers?: Headers }
  | { readonly answered: true };

export type JsonReply = Extract<Reply, { readonly json: unknown }>;

/** Content that is not JSON, or a response that the handler wrote itself. */
export type MediaReply = Exclude<Reply, JsonReply>;

/** Headers without a value are not sent. */
type Headers = Readonly<Record<string, string | undefined>>;

/** Marks a reply that repeats an earlier one. */
export const REPLAYED: Headers = { "idempotent-replayed": "true" };

export const ANSWERED: MediaReply = { answered: true };

const SAFE_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
} as const;

export function sendReply(outgoing: ServerResponse, reply: Reply): void {
  if ("answered" in reply || outgoing.headersSent || outgoing.destroyed) return;
  const body = "text" in reply ? reply.text : "bytes" in reply ? reply.bytes : JSON.stringify(reply.json);
  const headers = {
    ...SAFE_HEADERS,
    "content-type": "json" in reply ? "application/json; charset=utf-8" : reply.type,
    "content-length": Buffer.byteLength(body),
    ...reply.headers,
  };
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) outgoing.setHeader(name, value);
  outgoing.writeHead(reply.status ?? 200);
  outgoing.end(body);
}

/** `where` names the route in the log. */
export function sendError(log: Log, outgoing: ServerResponse, error: unknown, where: string): void {
  const status = statusOf(error);
  if (status === 500) {
    const detail =
      error instanceof RookeryError || !(error instanceof Error) ? errorText(error) : (error.stack ?? error.message);
    log.error("a request failed", { route: where, error: detail });
  }
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  const wait = retryAfterMs(error);
  const headers = {
    "retry-after": wait === undefined ? undefined : String(Math.ceil(wait / 1000)),
    "retry-after-ms": wait === undefined ? undefined : String(Math.ceil(wait)),
    "www-authenticate": status === 401 ? 'Bearer realm="rookery"' : undefined,
    // The unread rest of this request must not be parsed as the next one.
    connection: status === 413 || status === 400 ? "close" : undefined,
  };
  sendReply(outgoing, { status, json: errorBody(error), headers });
}
