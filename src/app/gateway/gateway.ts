/** The gateway of one node: an HTTP server over the route table, open from `openGateway` to `close`. */
import { collectWhenIdle } from "../../adapters/system/collect-when-idle.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { assertSecureBind, requestPolicy } from "./auth/request-policy.ts";
import { controlServer } from "./control/control-server.ts";
import { openControl } from "./control/open-control.ts";
import { type ContextOptions, closeContext, createContext, loadRoutes } from "./create-context.ts";
import { EAGER_ROUTES } from "./eager-routes.ts";
import { type Certificate, closeServer, createServer, type HttpServer, limitServer, listen } from "./http/server.ts";
import type { GatewayContext } from "./routing/gateway-context.ts";
import { requestListener } from "./routing/request-listener.ts";
import { type LazyRouter, lazyRouter } from "./routing/router.ts";

export interface GatewayOptions extends ContextOptions {
  /** Override `gateway.port` and `gateway.host`. */
  readonly port?: number;
  readonly host?: string;
  readonly tls?: Certificate;
  /** Binds the control socket of this home too. `store`: the address of the shared store, if the node uses one. */
  readonly control?: { readonly home: string; readonly store?: string };
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly context: GatewayContext;
  /** Follows a changed configuration: the limits of the server, and its certificate. */
  renew(tls: Certificate | undefined): void;
  /** Answers waiting requests with 503, closes the streams and the server. Accepted messages stay accepted. */
  close(): Promise<void>;
}

const TOKENS_RELOAD_MS = 1_000;

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { node, tls } = options;
  const { gateway } = options.config();
  const host = options.host ?? gateway.host;
  const isSecure = tls !== undefined;
  assertSecureBind(host, isSecure, gateway.trustedProxies);
  const stopping = new AbortController();
  const context = await createContext(options, stopping.signal);
  const { clock } = node.ports;
  const collector = collectWhenIdle(clock);
  const router = lazyRouter(options.routes ?? EAGER_ROUTES, () => loadRoutes(options));
  const onRequest = requestListener({
    context,
    surface: "network",
    router,
    policy: () => requestPolicy(options.config(), host, isSecure),
    onRequestEnd: () => collector.worked(),
  });
  const server = createServer({ tls, limits: gateway.limits, onRequest });
  const port = await listen(server, options.port ?? gateway.port, host);
  const control = await openControlOf(options, context, router);
  const unsubscribeRevoked = context.tokens.onRevoked((ids) => context.streams.closeOf(ids, "revoked"));
  const unsubscribeEnded = context.logins.onEnded((ids) => context.streams.closeOf(ids, "revoked"));
  // What other processes change: tokens in a file or a shared store, logins in a shared store.
  const reload = (): void => {
    void context.tokens.reload();
    if (node.remoteNodes) void context.logins.reload();
  };
  const unsubscribeTokens = node.remoteNodes?.onChanged("tokens", () => {
    context.agents.directory.forget();
    reload();
  });
  // Another process may revoke a token whose streams are open here: no request would notice it.
  const stopReloading = every(clock, TOKENS_RELOAD_MS, reload);
  return {
    url: `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    context,
    renew(next) {
      limitServer(server, options.config().gateway.limits);
      if (next && "setSecureContext" in server) server.setSecureContext(next);
    },
    async close() {
      stopReloading();
      unsubscribeTokens?.();
      collector.stop();
      unsubscribeRevoked();
      unsubscribeEnded();
      stopping.abort();
      context.streams.closeAll("shutdown");
      await Promise.all([closeServer(server, clock), control?.close()]);
      await closeContext(context);
    },
  };
}

/** The server of the control socket is made with its first connection. */
async function openControlOf({ control }: GatewayOptions, context: GatewayContext, router: LazyRouter) {
  let server: HttpServer | undefined;
  return (
    control &&
    openControl(control.home, context.ports, () => {
      server ??= controlServer(context, router, control.store);
      limitServer(server, context.config().gateway.limits);
      return server;
    })
  );
}

/** Returns a function that stops it. */
function every(clock: Clock, ms: number, callback: () => void): () => void {
  let cancel = (): void => {};
  const schedule = (): void => {
    cancel = clock.after(ms, () => {
      callback();
      schedule();
    });
  };
  schedule();
  return () => cancel();
}
