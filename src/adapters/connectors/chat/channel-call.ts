/**
 * How one call of a channel's API ended: answered, refused (the server answered and did nothing), not sent (the request never left this
 * machine), or unknown (it may have arrived).
 */
export type ChannelCall<T> =
  | { readonly status: "ok"; readonly result: T }
  | ChannelRefusal
  | { readonly status: "not-sent"; readonly reason: string }
  | { readonly status: "unknown"; readonly reason: string };

export interface ChannelRefusal {
  readonly status: "refused";
  readonly code: number;
  readonly reason: string;
  readonly retryAfterMs?: number;
}

/** The connection was never made, so the server cannot have the request. */
const NEVER_LEFT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

export const neverLeft = (code: unknown): boolean => typeof code === "string" && NEVER_LEFT.has(code);
