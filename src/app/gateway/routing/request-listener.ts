/** The first function of every request: metrics, rate limits and the request policy, then the route that matches. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { authorise } from "../auth/authorise.ts";
import type { Surface } from "../auth/principal.ts";
import {
  checkRequest,
  clientAddress,
  isSameOrigin,
  peerOf,
  type Refusal,
  type RequestPolicy,
} from "../auth/request-policy.ts";
import { HttpError } from "../http/http-error.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { sendError } from "../http/send-reply.ts";
import type { GatewayContext } from "./gateway-context.ts";
import type { LazyRouter, Match } from "./router.ts";
import { serveRoute } from "./serve-route.ts";

interface ListenerOptions {
  readonly context: GatewayContext;
  /** The surface of every connection that this listener serves. */
  readonly surface: Surface;
  readonly router: LazyRouter;
  /** The current policy: a reload may change it. */
  readonly policy: () => RequestPolicy;
  readonly onRequestEnd: () => void;
}

const METHODS: readonly string[] = ["GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD"];

export function requestListener({ context, surface, router, policy, onRequestEnd }: ListenerOptions) {
  const { metrics, ports } = context;
  const { clock, log } = ports;
  const addresses = new RateLimiter(() => clock.monotonic());
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const startedAt = clock.monotonic();
    let routePath = "none";
    metrics.requestStarted();
    outgoing.on("close", () => {
      onRequestEnd();
      // Unknown methods share one label, so that callers cannot add labels.
      const method = METHODS.includes(incoming.method ?? "") ? (incoming.method as string) : "other";
      metrics.requestEnded(routePath, method, outgoing.statusCode, (clock.monotonic() - startedAt) / 1000);
    });
    const rules = policy();
    const address = surface === "control" ? surface : clientAddress(incoming, rules);
    // The owner must be able to act while the network is flooded; the socket limits its own connections.
    const overload = surface === "control" ? undefined : checkLoad(context, addresses, address);
    const refused = overload ?? checkRequest(incoming, rules);
    if (refused) {
      refuse(context, incoming, outgoing, refused);
      return;
    }
    const caller = {
      surface,
      incoming,
      address,
      peer: peerOf(incoming),
      isSameOrigin: () => isSameOrigin(incoming, rules),
    };
    const { origin } = incoming.headers;
    if (origin !== undefined && rules.allowedOrigins.includes(origin)) {
      outgoing.setHeader("access-control-allow-origin", origin);
      outgoing.setHeader("vary", "Origin");
      if (incoming.method === "OPTIONS") {
        answerPreflight(outgoing);
        return;
      }
    }
    const dispatch = (match: Match): void => {
      if ("route" in match) {
        routePath = match.route.path;
        void serveRoute(context, match.route, { ...caller, outgoing }, match.params);
        return;
      }
      try {
        // Without a token a caller must not learn which routes exist: 401 comes before 404.
        authorise(context, { access: "any" }, caller);
        sendError(log, outgoing, match.error, routePath);
      } catch (error) {
        sendError(log, outgoing, error, routePath);
      }
    };
    const match = router(incoming.method ?? "", incoming.url ?? "");
    if (match instanceof Promise) match.then(dispatch).catch((error) => sendError(log, outgoing, error, routePath));
    else dispatch(match);
  };
}

function answerPreflight(outgoing: ServerResponse): void {
  outgoing.writeHead(204, {
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id",
    "access-control-max-age": "600",
  });
  outgoing.end();
}

function checkLoad(context: GatewayContext, addresses: RateLimiter, address: string): Refusal | undefined {
  const { requests, requestsPerSecond } = context.limits;
  if (context.metrics.inFlight > requests) {
    return { status: 503, code: "busy", message: "Too many requests are in progress.", retryAfterMs: 1_000 };
  }
  const wait = addresses.take(address, { burst: 2 * requestsPerSecond, perSecond: requestsPerSecond });
  if (wait === 0) return undefined;
  const message = "Too many requests from this address.";
  return { status: 429, code: "too_many_requests", message, retryAfterMs: wait };
}

function refuse(
  { ports }: GatewayContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, code, message, retryAfterMs }: Refusal,
): void {
  outgoing.setHeader("connection", "close");
  sendError(ports.log, outgoing, new HttpError(status, code, message, { retryAfterMs }), "request policy");
  incoming.resume();
}
