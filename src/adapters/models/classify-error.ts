/**
 * Assigns one of the six error classes to a failed call; the run loop has a rule for each. The order of the checks
 * matters: a rate limit whose text mentions tokens is not a prompt that is too long.
 */
import type { ModelErrorClass } from "../../core/ports/model.ts";
import { saysTooLong } from "./overflow.ts";

interface Failure {
  /** The HTTP status, if the response was not a success. */
  readonly status?: number;
  /** The provider's error: code and text. Both absent if the connection or the protocol broke. */
  readonly code?: string;
  readonly text?: string;
}

const THROTTLED = /ThrottlingException|^Throttling error|rate[ _]?limit|too many requests|RESOURCE_EXHAUSTED/i;
/** A wait does not help if the account is empty: a person must act, or another key is used. */
const UNPAID =
  /insufficient_quota|insufficient credits|credit balance is too low|billing_(?:error|hard_limit)|payment required/i;
const KEY_REFUSED =
  /authentication_error|permission_error|invalid_api_key|invalid x-api-key|api[ _]key not valid|API_KEY_INVALID|unauthenticated|PERMISSION_DENIED/i;
const OVERLOADED =
  /overloaded|api_error|server_error|internal error|timeout_error|UNAVAILABLE|service unavailable|network_error/i;
const REFUSED =
  /invalid_request|not_found_error|content_filter|refusal|sensitive|SAFETY|RECITATION|PROHIBITED_CONTENT|BLOCKLIST/i;

const BUSY: readonly number[] = [503, 529];
const KEY_STATUS: readonly number[] = [401, 402, 403];
const TRY_AGAIN: readonly number[] = [408, 409, 425];

export function classifyFailure({ status, code, text }: Failure, provider: string): ModelErrorClass {
  const said = code === undefined && text === undefined ? undefined : [code, text].filter(Boolean).join(" ");
  if (said !== undefined && UNPAID.test(said)) return "auth";
  if (status === 429 || (said !== undefined && THROTTLED.test(said))) return "rate";
  if (status !== undefined && BUSY.includes(status)) return "transient";
  if (status !== undefined && KEY_STATUS.includes(status)) return "auth";
  if (status === 413 || [text, code].some((words) => words && saysTooLong(words, provider))) return "overflow";
  if (said !== undefined && KEY_REFUSED.test(said)) return "auth";
  if (status !== undefined) return status >= 500 || TRY_AGAIN.includes(status) ? "transient" : "request";
  return said !== undefined && !OVERLOADED.test(said) && REFUSED.test(said) ? "request" : "transient";
}
