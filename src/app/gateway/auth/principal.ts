/** The sender of a request: the token it presented and what that token was granted. */
import type { Scope } from "./scope.ts";

/** Rate limits and quotas. An absent one means no limit. */
export interface UsageLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerDay?: number;
  readonly dollarsPerDay?: number;
}

export interface Principal {
  /** `root` for the home's own token, else the id of a minted one. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly limits?: UsageLimits;
  /** A token bound to one person can only send as this `user`. */
  readonly person?: string;
}

export const ROOT = "root";

/** The principal of requests without a token, on routes that need none. */
export const ANONYMOUS: Principal = { id: "anonymous", name: "anonymous", scopes: [] };
