/** How the token of a request narrows what its person may do. It never adds anything (L13). */
import { holds, type Scope } from "./scope.ts";

/** The token that a request presented. */
export interface TokenParty {
  readonly scopes: readonly Scope[];
  /** It belongs to a person other than the owner, or to an application. */
  readonly confined: boolean;
}

/** What a request asks of its token. */
export interface Asked {
  readonly scope: Scope;
  /** Also for tokens of people and applications, about what belongs to them. */
  readonly own?: boolean;
}

interface TokenDenial {
  readonly reason: string;
  /** The scope that the token lacks. Absent: no scope would help. */
  readonly scope?: Scope;
}

/**
 * Undefined if the token does not stand in the way. A token that may chat for a person may do with the person's own things what the
 * person's agent may do: the rights of the person decide.
 */
export function denialByToken({ scope, own = false }: Asked, token: TokenParty): TokenDenial | undefined {
  const { scopes, confined } = token;
  const isEnough = holds(scopes, scope) || (confined && own && holds(scopes, "chat"));
  if (!isEnough) return { reason: `it needs the scope ${scope}; the token has ${scopes.join(", ")}`, scope };
  return confined && !own ? { reason: "it is for the owner; the token belongs to another person" } : undefined;
}
