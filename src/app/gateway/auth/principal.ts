/** The sender of a request: the surface it came in on, the token it presented, and what that token was granted. */
import { OWNER as OWNER_ID, type PersonId } from "../../../core/people/person.ts";
import type { Effect } from "../../../core/rights/decide.ts";
import type { Scope } from "../../../core/rights/scope.ts";
import type { PeopleNow } from "../../../engine/people/directory.ts";

/**
 * Who a token belongs to. `owner`: the person the installation belongs to. `application`: a program that vouches for its users.
 * `person`: one person. `old`: minted before tokens had kinds; all old tokens share the names of their users.
 */
type PrincipalKind = "owner" | "application" | "person" | "old";

/** Rate limits and quotas. An absent one means no limit. */
export interface UsageLimits {
  readonly requestsPerMinute?: number;
  readonly messagesPerDay?: number;
  readonly tokensPerDay?: number;
  readonly dollarsPerDay?: number;
}

export interface Principal {
  /** `root` for the home's own token, else the id of a minted one. */
  readonly id: string;
  readonly name: string;
  readonly kind: PrincipalKind;
  readonly scopes: readonly Scope[];
  readonly limits?: UsageLimits;
  /** The tokens that minted it, the nearest first. What it uses counts for each of them. */
  readonly above?: readonly { readonly id: string; readonly limits?: UsageLimits }[];
  /** Who its requests are for: the owner, or the token's person. Absent: the `user` that each request names (`speakerOf`). */
  readonly person?: PersonId;
  /** Of an application: its name. Its users are `app:NAME/user`. */
  readonly app?: string;
  /** An old token bound to one `user`. */
  readonly user?: string;
  /** What the request does, and the people of that moment if their rights count. Set when the request is admitted. */
  readonly asks?: { readonly effect: Effect; readonly people?: PeopleNow };
}

/** Whether it sees only what belongs to its person or to its application's users, also with the scope `read`. */
export const isConfined = ({ kind }: Pick<Principal, "kind">): boolean => kind === "application" || kind === "person";

/**
 * Where a request comes in: `network` is the HTTP port, `control` the socket of the home. The listener that accepted the
 * connection says which; no part of a request does.
 */
export type Surface = "network" | "control";

export const ROOT = "root";
/** The ids of principals without a token: of a login, and of a person that a proxy names. */
export const LOGIN_PREFIX = "login:";
export const PROXY_PREFIX = "proxy:";

/** Who may use the control socket. The file system decides that: the socket belongs to the user who owns the home. */
export const OWNER: Principal = {
  id: ROOT,
  name: "the owner of the home",
  kind: "owner",
  person: OWNER_ID,
  scopes: ["admin"],
};

/** The principal of requests without a token, on routes that need none. */
export const ANONYMOUS: Principal = { id: "anonymous", name: "anonymous", kind: "old", scopes: [] };
