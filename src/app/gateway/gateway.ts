/** The gateway of one node: an HTTP server over the table of routes, open from `start` to `close`. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type Trimmer, trimWhenQuiet } from "../../adapters/system/trim-when-quiet.ts";
import type { Config } from "../../config/config-schema.ts";
import { ConfigError } from "../../core/errors.ts";
import type { RookeryNode } from "../node/open-node.ts";
import { Allowances } from "./auth/allowances.ts";
import { Buckets } from "./auth/buckets.ts";
import { checkRequest, clientAddress, isLoopback, type Refusal, type RequestPolicy } from "./auth/request-policy.ts";
import { TokenService } from "./auth/token-service.ts";
import { fileTokenStorage, sharedTokenStorage } from "./auth/token-storage.ts";
import { RunFeed } from "./events/run-feed.ts";
import { Streams } from "./events/streams.ts";
import { TreeFeed } from "./events/tree-feed.ts";
import { FRONT_ROUTES } from "./front-routes.ts";
import type { GatewayContext } from "./gateway-context.ts";
import { errorBody, HttpError } from "./http/http-error.ts";
import { Metrics } from "./http/metrics.ts";
import type { Route } from "./http/route.ts";
import { type Found, routerWithRest } from "./http/router.ts";
import { authorise, sendError, serveRoute } from "./http/serve-route.ts";
import { RequestLedger } from "./openai/request-ledger.ts";
import type { Reloaded } from "./reload.ts";

export interface GatewayOptions {
  readonly node: Pick<RookeryNode, "agents" | "ports" | "triggers" | "remoteNodes">;
  /** As it is now. */
  readonly config: () => Config;
  readonly reload: () => Promise<Reloaded>;
  readonly tokenFile: string;
  readonly rootToken: string;
  /** Instead of the configured ones. */
  readonly port?: number;
  readonly host?: string;
  /** The certificate and its key, read. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly version: string;
  readonly routes?: readonly Route[];
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly context: GatewayContext;
  /** Uses another certificate from now on. */
  renew(tls: { readonly cert: string; readonly key: string }): void;
  /** Sends whoever waits away and closes. What was accepted goes on. */
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
const HEADER_BYTES = 16_384;
const GOODBYE_MS = 2_000;

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { node, tls } = options;
  const { gateway } = options.config();
  const host = options.host ?? gateway.host;
  assertSecureBind(host, tls !== undefined, gateway.trustedProxies);
  const stopping = new AbortController();
  const context = await contextOf(options, stopping.signal);
  const stopListening = context.tokens.onRevoked((ids) => context.streams.closeOf(ids, "revoked"));
  const trimmer = trimWhenQuiet(node.ports.clock);
  const rules = (): RequestPolicy => requestPolicy(options.config(), host, tls !== undefined);
  const listener = listenerOf(context, options, rules, trimmer);
  const server = makeServer(options, listener);
  const port = await listen(server, options.port ?? gateway.port, host);
  // Streams of a token that was revoked by another process end without a request of theirs.
  const { clock } = node.ports;
  let stopLooking = (): void => {};
  const look = (): void => {
    stopLooking = clock.after(1_000, () => {
      void context.tokens.lookAgain();
      look();
    });
  };
  look();
  const stopHearing = node.remoteNodes?.onChanged("tokens", () => void context.tokens.lookAgain());
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    context,
    renew(next) {
      if ("setSecureContext" in server) server.setSecureContext(next);
    },
    async close() {
      stopLooking();
      stopHearing?.();
      trimmer.stop();
      stopListening();
      stopping.abort();
      context.streams.closeAll("shutdown");
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // Who has its answer keeps no connection open; who takes too long to take it is not waited for.
      const until = clock.monotonic() + GOODBYE_MS;
      let cancel = (): void => {};
      const hangUp = (): void => {
        if (clock.monotonic() >= until) server.closeAllConnections();
        else {
          server.closeIdleConnections();
          cancel = clock.after(20, hangUp);
        }
      };
      hangUp();
      await closed;
      cancel();
      await context.ledger.flush();
      context.tree.close();
      context.feed.close();
    },
  };
}

async function contextOf(options: GatewayOptions, stopping: AbortSignal): Promise<GatewayContext> {
  const { node, config, version } = options;
  const { ports, agents } = node;
  const feed = new RunFeed(agents.events, node.remoteNodes);
  let described: Promise<unknown> | undefined;
  return {
    agents,
    ports,
    triggers: node.triggers,
    config,
    reload: options.reload,
    remoteNodes: node.remoteNodes,
    tokens: await TokenService.open({
      storage: node.remoteNodes ? sharedTokenStorage(ports) : fileTokenStorage(options.tokenFile),
      root: options.rootToken,
      now: () => ports.clock.now(),
      log: ports.log,
    }),
    allowances: new Allowances(ports, () => config().gateway.limits, node.remoteNodes !== undefined),
    feed,
    tree: new TreeFeed(feed, agents.tree, ports.clock, node.remoteNodes),
    streams: new Streams(() => config().gateway.limits),
    ledger: new RequestLedger(ports, node.remoteNodes && (() => agents.node)),
    metrics: new Metrics(),
    version,
    startedAt: ports.clock.now(),
    stopping,
    openApi: () => {
      described ??= Promise.all([import("./http/open-api.ts"), routesOf(options)]).then(([{ openApiOf }, routes]) =>
        openApiOf(routes, version),
      );
      return described;
    },
  };
}

const routesOf = async ({ routes }: Pick<GatewayOptions, "routes">): Promise<readonly Route[]> =>
  routes ?? (await import("./route-table.ts")).ROUTES;

/** Open to other machines only where nobody can listen in: with TLS, or behind a proxy that is named. */
export function assertSecureBind(host: string, secure: boolean, proxies: readonly string[]): void {
  if (isLoopback(host) || secure || proxies.length > 0) return;
  throw new ConfigError(`The gateway does not listen on ${host} without TLS.`, {
    hint: "Set gateway.tls, or name the proxy that brings TLS in gateway.trustedProxies, or keep gateway.host at 127.0.0.1.",
  });
}

function requestPolicy({ gateway }: Config, host: string, secure: boolean): RequestPolicy {
  const { allowedHosts, allowedOrigins, trustedProxies, limits } = gateway;
  const proxiesOnly = !isLoopback(host) && !secure;
  return { host, allowedHosts, allowedOrigins, trustedProxies, proxiesOnly, secure, bodyBytes: limits.bodyBytes };
}

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function listenerOf(
  context: GatewayContext,
  options: GatewayOptions,
  rules: () => RequestPolicy,
  trimmer: Trimmer,
): Listener {
  const { clock } = context.ports;
  const addresses = new Buckets(() => clock.monotonic());
  const failures = new Buckets(() => clock.monotonic());
  const find = routerWithRest(options.routes ?? FRONT_ROUTES, () => routesOf(options));
  return (incoming, outgoing) => {
    const begun = clock.monotonic();
    let asked = "none";
    context.metrics.begun();
    outgoing.on("close", () => {
      trimmer.touched();
      const seconds = (clock.monotonic() - begun) / 1000;
      context.metrics.ended(asked, methodOf(incoming), outgoing.statusCode, seconds);
    });
    const policy = rules();
    const address = clientAddress(incoming, policy);
    const refused = floodRefusal(context, addresses, address) ?? checkRequest(incoming, policy);
    if (refused) return refuse(context, incoming, outgoing, refused);
    const { origin } = incoming.headers;
    if (origin !== undefined && policy.allowedOrigins.includes(origin)) {
      outgoing.setHeader("access-control-allow-origin", origin);
      outgoing.setHeader("vary", "Origin");
      if (incoming.method === "OPTIONS") return preflight(outgoing);
    }
    const go = (found: Found): void => {
      if ("route" in found) {
        asked = found.route.path;
        void serveRoute(context, failures, found.route, { incoming, outgoing, address }, found.params);
        return;
      }
      try {
        // Who is nobody here does not learn what is here.
        authorise(context, failures, { access: "any" }, incoming, address);
        sendError(context, outgoing, found.error, asked);
      } catch (error) {
        sendError(context, outgoing, error, asked);
      }
    };
    const found = find(incoming.method ?? "", incoming.url ?? "");
    if (found instanceof Promise) found.then(go).catch((error) => sendError(context, outgoing, error, asked));
    else go(found);
  };
}

/** Methods nobody knows are counted as one. */
const methodOf = ({ method = "" }: IncomingMessage): string =>
  ["GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD"].includes(method) ? method : "other";

function preflight(outgoing: ServerResponse): void {
  outgoing.writeHead(204, {
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id",
    "access-control-max-age": "600",
  });
  outgoing.end();
}

function floodRefusal(context: GatewayContext, addresses: Buckets, address: string): Refusal | undefined {
  const { requests, requestsPerSecond } = context.config().gateway.limits;
  if (context.metrics.inFlight > requests) {
    return { status: 503, code: "busy", message: "Too many requests are under way.", retryAfterMs: 1_000 };
  }
  const wait = addresses.take(address, { burst: 2 * requestsPerSecond, perSecond: requestsPerSecond });
  if (wait === 0) return undefined;
  return {
    status: 429,
    code: "too_many_requests",
    message: "Too many requests from this address.",
    retryAfterMs: wait,
  };
}

function refuse(
  context: GatewayContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, code, message, retryAfterMs }: Refusal,
): void {
  outgoing.setHeader("connection", "close");
  sendError(context, outgoing, new HttpError(status, code, message, { retryAfterMs }), "door");
  incoming.resume();
}

function makeServer({ config, tls }: GatewayOptions, listener: Listener): Server | SecureServer {
  const { requestSeconds, requests } = config().gateway.limits;
  const shared = {
    requestTimeout: requestSeconds * 1000,
    headersTimeout: Math.min(HEADERS_MS, requestSeconds * 1000),
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: HEADER_BYTES,
    noDelay: true,
  };
  // Not imported: an import reads every name a module exports, and one of this module's loads a whole client beside it.
  const server = tls
    ? process.getBuiltinModule("node:https").createServer({ ...shared, ...tls }, listener)
    : process.getBuiltinModule("node:http").createServer(shared, listener);
  server.maxConnections = 2 * requests;
  // No protocol but HTTP is spoken here.
  for (const asked of ["upgrade", "connect"]) server.on(asked, (_request, socket: Duplex) => refuseProtocol(socket));
  return server;
}

/** Written by hand: such a socket has left the server's own keeping. */
function refuseProtocol(socket: Duplex): void {
  const error = new HttpError(400, "only_http", "No protocol but HTTP is spoken here.");
  const body = JSON.stringify(errorBody(error));
  const head = [
    "HTTP/1.1 400 Bad Request",
    "connection: close",
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.on("error", () => {});
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function listen(server: Server | SecureServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      reject(
        new ConfigError(`The gateway cannot listen on ${host}:${port}: ${cause.message}.`, {
          cause,
          hint:
            cause.code === "EADDRINUSE"
              ? "Another program uses the port; choose one with --port or gateway.port."
              : "Choose another gateway.host or gateway.port.",
        }),
      );
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}
