/** Finds out who sends a request. What the sender may do is decided by `judge-request.ts`. */

import type { IncomingMessage } from "node:http";
import type { Scope } from "../../../core/rights/scope.ts";
import type { GatewayLimits } from "../http/gateway-limits.ts";
import { HttpError } from "../http/http-error.ts";
import type { RateLimiter } from "../http/rate-limiter.ts";
import type { FailureLog } from "./failure-log.ts";
import { ANONYMOUS, OWNER, type Principal, type Surface } from "./principal.ts";
import type { TokenService } from "./token-service.ts";

/**
 * Who may call a route. `anonymous`: no token needed. `any`: every token; the handler limits what it sees by its scopes.
 * `hook`: the handler checks the secret of a webhook or an invitation itself.
 */
export type Access = "anonymous" | "any" | "hook" | Scope;

/** The part of the gateway's context that authorisation needs. */
interface AuthorisationContext {
  readonly limits: Pick<GatewayLimits, "failuresPerMinute">;
  readonly tokens: TokenService;
  /** Requests without a valid token, by client address. */
  readonly failures: RateLimiter;
  readonly failureLog: FailureLog;
}

/** A request as far as authorisation looks at it. */
export interface Caller {
  readonly surface: Surface;
  readonly incoming: IncomingMessage;
  /** The client's address, for rate limits. */
  readonly address: string;
  /** The address of the other end of the connection. */
  readonly peer: string;
  /** Whether a page of this server sends it. */
  isSameOrigin(): boolean;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

export const bearerToken = ({ headers }: IncomingMessage): string | undefined =>
  BEARER.exec(headers.authorization ?? "")?.[1];

/**
 * The owner on the control socket; elsewhere the principal of the token. Throws a 401 without a valid token, and a 429
 * instead after too many failures from one address; a valid token passes there too. A hook checks its own secret: its route reports a wrong one with
 * `countFailure`.
 */
export function authorise(
  context: AuthorisationContext,
  { access }: { readonly access: Access },
  { surface, incoming, address }: Pick<Caller, "surface" | "incoming" | "address">,
  /** Who a request without a token comes from (`ambientIdentity`). */
  ambient?: Principal,
): Principal {
  if (access === "anonymous") return ANONYMOUS;
  if (surface === "control" && access !== "hook") return OWNER;
  if (access === "hook") return ANONYMOUS;
  const { tokens } = context;
  const presented = bearerToken(incoming);
  const principal = presented === undefined ? ambient : tokens.find(presented);
  if (!principal) {
    const message =
      incoming.headers.authorization === undefined ? "The request has no token." : "The token is not valid.";
    const tooMany = countFailure(context, address, message);
    if (tooMany) throw tooMany;
    throw new HttpError(401, "unauthorized", message, { hint: "Send it as Authorization: Bearer …" });
  }
  return principal;
}

/**
 * Counts a request with a wrong secret. After many of them from one address the answer to the next wrong one is the returned
 * error. Requests with the right secret are never slowed down: others may share the address.
 */
export function countFailure(
  context: Pick<AuthorisationContext, "limits" | "failures" | "failureLog">,
  address: string,
  reason: string,
): HttpError | undefined {
  context.failureLog.failed(address, reason);
  const wait = context.failures.take(address, failureRate(context));
  if (wait === 0) return undefined;
  return new HttpError(429, "too_many_failures", "Too many requests with a wrong token from this address.", {
    retryAfterMs: wait,
  });
}

function failureRate({ limits }: Pick<AuthorisationContext, "limits">): { burst: number; perSecond: number } {
  const { failuresPerMinute } = limits;
  return { burst: failuresPerMinute, perSecond: failuresPerMinute / 60 };
}
