/** The sender of a request: the surface it came in on, the token it presented, and what that token was granted. */
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

/**
 * Where a request comes in: `network` is the HTTP port, `control` the socket of the home. The listener that accepted the
 * connection says which; no part of a request does.
 */
export type Surface = "network" | "control";

export const ROOT = "root";

/** Who may use the control socket. The file system decides that: the socket belongs to the user who owns the home. */
export const OWNER: Principal = { id: ROOT, name: "the owner of the home", scopes: ["admin"] };

/** The principal of requests without a token, on routes that need none. */
export const ANONYMOUS: Principal = { id: "anonymous", name: "anonymous", scopes: [] };
