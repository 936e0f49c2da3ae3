/** Errors as HTTP answers. Every route uses one shape, which OpenAI clients understand too. */
import {
  CommitUnknownError,
  ConflictError,
  DeniedError,
  InvalidInputError,
  NotFoundError,
  QueueFullError,
  RookeryError,
  StoreClosedError,
  StoreFullError,
  StoreLostError,
  StoreUnavailableError,
  TimeoutError,
  TooLargeError,
} from "../../../core/errors.ts";
import type { ErrorBody } from "../schemas/error.ts";

/** Thrown by a handler when no error class of the core maps to the status it needs. */
export class HttpError extends RookeryError {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { hint?: string; param?: string; retryAfterMs?: number; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, { hint: more.hint, cause: more.cause });
    this.status = status;
    this.code = code;
    this.retryable = more.retryable ?? (status === 408 || status === 429 || status >= 500);
    this.param = more.param;
    this.retryAfterMs = more.retryAfterMs;
  }
}

export const keyReused = (): HttpError =>
  new HttpError(422, "idempotency_key_reused", "This Idempotency-Key was used with another request.", {
    hint: "Use a new key for a new request.",
  });

const STATUS: readonly (readonly [new (...args: never[]) => RookeryError, number])[] = [
  [InvalidInputError, 400],
  [TooLargeError, 413],
  [DeniedError, 403],
  [ConflictError, 409],
  [NotFoundError, 404],
  [QueueFullError, 429],
  [TimeoutError, 504],
  [StoreFullError, 507],
  [StoreLostError, 503],
  [StoreUnavailableError, 503],
  [CommitUnknownError, 503],
  [StoreClosedError, 503],
];

export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  return STATUS.find(([kind]) => error instanceof kind)?.[1] ?? 500;
}

/** After how long the same request may succeed, if that is known. */
export const retryAfterMs = (error: unknown): number | undefined =>
  error instanceof HttpError || error instanceof QueueFullError ? error.retryAfterMs : undefined;

export function errorBody(error: unknown): ErrorBody {
  const status = statusOf(error);
  const known = error instanceof RookeryError && status !== 500;
  const message = known ? error.message : "Internal error. See the log for the details.";
  const hint = known ? error.hint : undefined;
  return {
    error: {
      message: hint ? `${message} ${hint}` : message,
      type: typeOf(status),
      param: error instanceof HttpError ? (error.param ?? null) : null,
      code: known ? error.code : "internal",
      hint,
      retryable: error instanceof RookeryError && error.retryable,
    },
  };
}

/** The error types of the OpenAI API. */
function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
