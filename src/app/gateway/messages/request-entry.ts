/**
 * Identifies an HTTP request in the ledger (M18). A message is known by its sender, its recipient and its `Idempotency-Key`, or without a
 * key by all that the request says. Any other POST is known by its token and key. How a caller waits is never a part of it.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Ports } from "../../../core/ports/ports.ts";
import type { ContentEntry, KeyedEntry, RequestEntry, RequestRecord } from "../../../core/store/request.ts";
import type { Principal } from "../auth/principal.ts";
import { HttpError, keyReused } from "../http/http-error.ts";

/** The part of a call that identifies it. */
export interface IdentifiedRequest {
  readonly principal: Principal;
  /** The body, unparsed. */
  readonly raw: Buffer;
  readonly incoming: IncomingMessage;
  header(name: string): string | undefined;
}

/** A message as the ledger compares it. The same through every route. */
export interface MessageIdentity {
  /** The person, or the application and its user. */
  readonly sender: string;
  /** The recipient as the caller named it, so that the message is found after its agent was removed too. */
  readonly target: string;
  /** The content of a message with an id. */
  content(): MessageContent | Promise<MessageContent>;
  /** Everything that the request says, except how its caller waits. Compared if there is no id. */
  readonly said: object;
}

interface MessageContent {
  readonly text: string;
  /** Digests of the files, or their addresses. */
  readonly files?: readonly string[];
  /** The form of the answer. */
  readonly output?: object;
  /** For this run only, with the caller's tools. */
  readonly overrides?: object;
  readonly toolResults?: readonly object[];
  /** The response that it continues. */
  readonly after?: string;
}

const KEPT_MS = 24 * 3600_000;
const MAX_KEY = 255;

/** Undefined without an `Idempotency-Key`. Keys of two tokens are independent. */
export function keyedEntry(request: IdentifiedRequest, now: number): KeyedEntry | undefined {
  const { principal, incoming, raw } = request;
  const key = idempotencyKey(request);
  if (key === undefined) return undefined;
  return {
    by: "key",
    key: `api:${principal.id}:${digestOf(key)}`,
    digest: digestOf(JSON.stringify([incoming.method ?? "", incoming.url ?? ""]), raw),
    keepUntil: now + KEPT_MS,
  };
}

export async function messageEntry(
  request: IdentifiedRequest,
  { sender, target, content, said }: MessageIdentity,
  now: number,
): Promise<RequestEntry> {
  const id = idempotencyKey(request);
  const keepUntil = now + KEPT_MS;
  if (id !== undefined) {
    const key = `message:${digestOf(JSON.stringify([sender, target, id]))}`;
    return { by: "key", key, digest: digestOf(canonicalJson(await content())), keepUntil };
  }
  const key = `same:${digestOf(canonicalJson([sender, target, said]))}`;
  // The official clients count their retries in this header.
  const isRetry = Number(request.header("x-stainless-retry-count") ?? 0) > 0;
  return { by: "content", key, isRetry, keepUntil } satisfies ContentEntry;
}

/** The earlier request with the same key. Throws a 422 if it said something else. */
export async function findEarlier(
  { store, clock }: Pick<Ports, "store" | "clock">,
  { key, digest }: KeyedEntry,
): Promise<RequestRecord | undefined> {
  const row = await store.request(key);
  if (!row || row.keepUntil <= clock.now()) return undefined;
  if (row.digest === undefined || row.digest === digest) return row;
  throw keyReused();
}

function idempotencyKey({ header }: IdentifiedRequest): string | undefined {
  const key = header("idempotency-key");
  if (key === undefined || (key !== "" && key.length <= MAX_KEY)) return key;
  throw new HttpError(400, "invalid_input", `An Idempotency-Key has 1 to ${MAX_KEY} characters.`);
}

const digestOf = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

/** The same text for equal values, whatever the order of their fields. */
function canonicalJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_, one: unknown) => (isObject(one) ? sorted(one) : one));
  } catch (cause) {
    throw new HttpError(400, "bad_json", "The body is nested too deeply.", { cause });
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const sorted = (value: object): object =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
