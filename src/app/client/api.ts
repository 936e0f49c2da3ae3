/**
 * The gateway's API as clients use it: one JSON request at a time over a transport. An answer that reports an error is thrown
 * as the error it was.
 */
import { defined } from "../../core/defined.ts";
import { QueueFullError, RookeryError } from "../../core/errors.ts";
import type { Transport } from "./transport.ts";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With every part encoded. */
  readonly path: string;
  readonly body?: unknown;
  /** Sent instead of `body`. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** The `Idempotency-Key`: a repeated request with the same key changes nothing more. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** An error that the API reported: its code, message and hint are those of the error that the handler threw. */
export class ApiError extends RookeryError {
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;

  constructor(status: number, { code, message, hint, retryable }: Reported) {
    super(message, { hint });
    this.code = code;
    this.status = status;
    this.retryable = retryable;
  }
}

/** The connection ended before the answer. The request may have been carried out. */
export class ConnectionLostError extends RookeryError {
  readonly code = "connection_lost";
  readonly retryable = true;
}

interface Reported {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly retryable: boolean;
}

const MAX_ANSWER = 256 * 1024 * 1024;

/** Throws `ApiError` or `QueueFullError` for an answer of 400 and above, `ConnectionLostError` if there is no whole answer or `signal` aborts. */
export async function askApi(transport: Transport, request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
  const { method, path, body, bytes, key, headers } = request;
  const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await transport({
    method,
    path,
    body: content,
    signal,
    headers: defined({
      "content-type": content === undefined ? undefined : bytes ? "application/octet-stream" : "application/json",
      "idempotency-key": key,
      ...headers,
    }) as Record<string, string>,
  });
  const json = parsed(await textOf(response.body));
  if (response.status < 400) return { status: response.status, json };
  throw apiErrorOf(response.status, json);
}

/** As `askApi`, for an answer that is the bytes of a file. */
export async function askBytes(
  transport: Transport,
  path: string,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await transport({ method: "GET", path, headers: {}, signal });
  if (response.status < 400) return response.bytes();
  throw apiErrorOf(response.status, parsed(await textOf(response.body)));
}

/** The error that an answer of 400 and above reports. */
export function apiErrorOf(status: number, json: unknown): ApiError | QueueFullError {
  const reported = reportedIn(json, status);
  return reported.code === "queue_full"
    ? new QueueFullError(reported.message, reported)
    : new ApiError(status, reported);
}

/** All of a body, up to a limit that no answer of the API reaches. */
export async function textOf(body: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of body) {
    text += piece;
    if (text.length > MAX_ANSWER) throw lostConnection();
  }
  return text;
}

export const lostConnection = (cause?: unknown): ConnectionLostError =>
  new ConnectionLostError("The running engine stopped before it answered.", {
    cause,
    hint: "It may have carried the command out. Check before you repeat it.",
  });

export function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  } catch (cause) {
    throw new ConnectionLostError("The answer of the running engine cannot be read.", { cause });
  }
}

/** The message without the hint, which the API appends to it. */
function reportedIn(json: unknown, status: number): Reported {
  const {
    code = "internal",
    message = `The engine answered ${status}.`,
    hint,
    retryable = false,
  } = (json as { error?: Partial<Reported> } | undefined)?.error ?? {};
  const bare = hint && message.endsWith(` ${hint}`) ? message.slice(0, -hint.length - 1) : message;
  return { code, message: bare, hint, retryable };
}
