/** What an error of the AI SDK says, read by its shape: status, body and headers of the response, or the name of its class. */
import type { Clock } from "../../../core/ports/clock.ts";
import type { ModelErrorClass } from "../../../core/ports/model.ts";
import { errorInBody, errorInJson } from "../provider-error.ts";
import { retryAfterMs, retryDelayIn } from "../retry-after.ts";
import type { ReportedFailure } from "../run-provider-call.ts";

/** `APICallError` of the AI SDK. */
interface CallError {
  readonly name?: string;
  readonly message?: string;
  readonly statusCode?: number;
  readonly responseBody?: string;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

/** Errors that come from the program, before anything was sent. */
const OURS: Readonly<Record<string, ModelErrorClass>> = {
  AI_LoadAPIKeyError: "auth",
  AI_LoadSettingError: "auth",
  AI_NoSuchModelError: "request",
  AI_UnsupportedFunctionalityError: "request",
  AI_InvalidPromptError: "request",
  AI_InvalidArgumentError: "request",
};

/** Undefined if the error does not come from the provider or the program: the connection or the protocol broke. */
export function reportedFailure(error: unknown, clock: Pick<Clock, "now">): ReportedFailure | undefined {
  if (typeof error === "string") return { error: errorInBody(0, error) };
  if (typeof error !== "object" || error === null) return undefined;
  const { name = "", message = "", statusCode: status, responseBody = "", responseHeaders = {} } = error as CallError;
  // A provider's own error may have any name.
  const known = Object.hasOwn(OURS, name) ? OURS[name] : undefined;
  if (known) return { class: known, error: { text: message.slice(0, MAX_TEXT) } };
  if (status === undefined) return error instanceof Error ? undefined : reportedBy(errorInJson(error));
  // A whole response that could not be read: the protocol broke.
  if (status < 300) return undefined;
  return {
    status,
    error: errorInBody(status, responseBody || message),
    retryAfterMs: retryAfterMs((header) => responseHeaders[header], clock) ?? retryDelayIn(responseBody),
  };
}

const MAX_TEXT = 1_000;

const reportedBy = (error: ReportedFailure["error"]): ReportedFailure | undefined => error && { error };
