/**
 * The gateway's API as commands use it: one JSON request at a time over a connection that the caller gives, which leads to a
 * running engine or into this process. An answer that reports an error is thrown as the error it was.
 */
import type { Duplex } from "node:stream";
import { defined } from "../../../core/defined.ts";
import { RookeryError } from "../../../core/errors.ts";
import { CONTROL_HOST } from "../../gateway/auth/control-headers.ts";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With every part encoded. */
  readonly path: string;
  readonly body?: unknown;
  /** The `Idempotency-Key`: a repeated request with the same key changes nothing more. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Opens a connection. Rejects if no one answers. */
export type Connect = () => Duplex;

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

/** Throws `ApiError` for an answer of 400 and above, `ConnectionLostError` if there is no whole answer or `signal` aborts. */
export async function askApi(connect: Connect, request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
  const { status, text } = await exchange(connect, request, signal);
  const json = parsed(text);
  if (status < 400) return { status, json };
  throw new ApiError(status, reportedIn(json, status));
}

function exchange(
  connect: Connect,
  { method, path, body, key, headers }: ApiRequest,
  signal: AbortSignal | undefined,
): Promise<{ status: number; text: string }> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const lost = (cause?: unknown): void =>
      reject(
        new ConnectionLostError("The running engine stopped before it answered.", {
          cause,
          hint: "It may have carried the command out. Check before you repeat it.",
        }),
      );
    const sent = process.getBuiltinModule("node:http").request(
      {
        method,
        path,
        createConnection: connect,
        signal,
        headers: defined({
          host: CONTROL_HOST,
          connection: "close",
          "content-type": content === undefined ? undefined : "application/json",
          "content-length": content === undefined ? undefined : String(Buffer.byteLength(content)),
          "idempotency-key": key,
          ...headers,
        }),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
          if (text.length > MAX_ANSWER) response.destroy();
        });
        response.on("error", lost);
        response.on("close", () => (response.complete ? resolve({ status: response.statusCode ?? 0, text }) : lost()));
      },
    );
    sent.on("error", lost);
    sent.end(content);
  });
}

function parsed(text: string): unknown {
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
