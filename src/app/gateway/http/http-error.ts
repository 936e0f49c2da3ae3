/** An error as an HTTP answer: one shape for every route, which the OpenAI clients understand too. */
import {
  CommitUnknownError,
  ConflictError,
  DeniedError,
  InvalidInputError,
  NotFoundError,
  RookeryError,
  StoreClosedError,
  StoreFullError,
  TimeoutError,
} from "../../../core/errors.ts";

/** What a handler throws where no error of the core says the status. */
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
    more: { hint?: string; param?: string; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { hint: more.hint, cause: more.cause });
    this.status = status;
    this.code = code;
    this.retryable = status === 408 || status === 429 || status >= 500;
    this.param = more.param;
    this.retryAfterMs = more.retryAfterMs;
  }
}

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
    readonly hint?: string;
    readonly retryable: boolean;
  };
}

const STATUS: readonly (readonly [new (...args: never[]) => RookeryError, number])[] = [
  [InvalidInputError, 400],
  [DeniedError, 403],
  [ConflictError, 409],
  [NotFoundError, 404],
  [TimeoutError, 504],
  [StoreFullError, 507],
  [CommitUnknownError, 503],
  [StoreClosedError, 503],
];

export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  return STATUS.find(([kind]) => error instanceof kind)?.[1] ?? 500;
}

export function errorBody(error: unknown): ErrorBody {
  const status = statusOf(error);
  const known = error instanceof RookeryError && status !== 500;
  const message = known ? error.message : "Something went wrong inside; the log says what.";
  return {
    error: {
      message: known && error.hint ? `${message} ${error.hint}` : message,
      type: typeOf(status),
      param: error instanceof HttpError ? (error.param ?? null) : null,
      code: known ? error.code : "internal",
      ...(known && error.hint ? { hint: error.hint } : {}),
      retryable: error instanceof RookeryError && error.retryable,
    },
  };
}

/** As the OpenAI API names kinds of errors. */
function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
