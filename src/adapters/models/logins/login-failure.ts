/** What an authorisation server answered, in our own words: the library's texts may quote tokens. */

interface LoginFailure {
  /** `refused`: only a new login helps. `failed`: the same may work later. */
  readonly kind: "refused" | "denied" | "expired" | "cancelled" | "failed";
  /** A part of a sentence: an OAuth code or a status. */
  readonly detail: string;
}

/** Codes of RFC 6749 and RFC 8628 that say that this grant is over. */
const REFUSED = /invalid_grant|invalid_client|unauthorized_client|\bunauthorized\b|session expired|\b40[013]\b/iu;
const CANCELLED = /cancelled|aborted/iu;
const DETAIL =
  /\b(?:invalid_grant|invalid_client|unauthorized_client|invalid_scope|access_denied|expired_token|[45]\d\d)\b/gu;

export function loginFailure(error: unknown): LoginFailure {
  const text = messageOf(error);
  const detail = [...new Set(text.match(DETAIL) ?? [])].slice(0, 3).join(", ");
  return { kind: kindOf(text), detail };
}

/** Whether a refresh failed for good. A server may say so with "denied" or "expired" too; nobody was asked here. */
export function endsLogin(error: unknown): boolean {
  const text = messageOf(error);
  return !CANCELLED.test(text) && (REFUSED.test(text) || /\b(?:access_denied|expired_token)\b/u.test(text));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message.slice(0, 4_000) : "");

function kindOf(text: string): LoginFailure["kind"] {
  if (CANCELLED.test(text)) return "cancelled";
  if (/denied/iu.test(text)) return "denied";
  if (/device code expired|authorization expired|expired_token|timed out/iu.test(text)) return "expired";
  return REFUSED.test(text) ? "refused" : "failed";
}
