/** The gateway of one node: an HTTP server over the route table, open from `openGateway` to `close`. */
import { collectWhenIdle } from "../../adapters/system/collect-when-idle.ts";
import type { Config } from "../../config/config-schema.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RookeryNode } from "../node/open-node.ts";
import { assertSecureBind, requestPolicy } from "./auth/request-policy.ts";
import { TokenService } from "./auth/token-service.ts";
import { fileTokenStorage, sharedTokenStorage } from "./auth/token-storage.ts";
import { UsageLimiter } from "./auth/usage-limiter.ts";
import { EAGER_ROUTES } from "./eager-routes.ts";
import { OpenStreams } from "./events/open-streams.ts";
import { RunEventHub } from "./events/run-event-hub.ts";
import { TreeEventLog } from "./events/tree-event-log.ts";
import { Metrics } from "./http/metrics.ts";
import { RateLimiter } from "./http/rate-limiter.ts";
import { type Certificate, closeServer, createServer, listen } from "./http/server.ts";
import { RequestLedger } from "./messages/request-ledger.ts";
import type { GatewayContext, ReloadReport } from "./routing/gateway-context.ts";
import { requestListener } from "./routing/request-listener.ts";
import type { Route } from "./routing/route.ts";
import { lazyRouter } from "./routing/router.ts";

export interface GatewayOptions {
  readonly node: Pick<RookeryNode, "agents" | "ports" | "triggers" | "remoteNodes">;
  /** The current configuration: a reload changes it. */
  readonly config: () => Config;
  readonly reload: () => Promise<ReloadReport>;
  readonly tokenFile: string;
  readonly rootToken: string;
  /** Override `gateway.port` and `gateway.host`. */
  readonly port?: number;
  readonly host?: string;
  readonly tls?: Certificate;
  readonly version: string;
  readonly routes?: readonly Route[];
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly context: GatewayContext;
  /** Uses another certificate from now on. */
  renew(tls: Certificate): void;
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
  const onRequest = requestListener({
    context,
    router: lazyRouter(options.routes ?? EAGER_ROUTES, () => loadRoutes(options)),
    policy: () => requestPolicy(options.config(), host, isSecure),
    onRequestEnd: () => collector.worked(),
  });
  const { requestSeconds, requests } = gateway.limits;
  const server = createServer({ tls, requestSeconds, requests, onRequest });
  const port = await listen(server, options.port ?? gateway.port, host);
  const unsubscribeRevoked = context.tokens.onRevoked((ids) => context.streams.closeOf(ids, "revoked"));
  const unsubscribeTokens = node.remoteNodes?.onChanged("tokens", () => void context.tokens.reload());
  // Another process may revoke a token whose streams are open here: no request would notice it.
  const stopReloading = every(clock, TOKENS_RELOAD_MS, () => void context.tokens.reload());
  return {
    url: `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    context,
    renew(next) {
      if ("setSecureContext" in server) server.setSecureContext(next);
    },
    async close() {
      stopReloading();
      unsubscribeTokens?.();
      collector.stop();
      unsubscribeRevoked();
      stopping.abort();
      context.streams.closeAll("shutdown");
      await closeServer(server, clock);
      await context.ledger.flush();
      context.treeEvents.close();
      context.runEvents.close();
    },
  };
}

async function createContext(options: GatewayOptions, stopping: AbortSignal): Promise<GatewayContext> {
  const { node, config, reload, version } = options;
  const { ports, agents, triggers, remoteNodes } = node;
  const { clock, log } = ports;
  const runEvents = new RunEventHub(agents.events, remoteNodes);
  const tokens = await TokenService.open({
    storage: remoteNodes ? sharedTokenStorage(ports) : fileTokenStorage(options.tokenFile),
    root: options.rootToken,
    now: () => clock.now(),
    log,
  });
  let openApi: Promise<unknown> | undefined;
  return {
    agents,
    ports,
    triggers,
    config,
    reload,
    remoteNodes,
    tokens,
    limiter: new UsageLimiter(ports, () => config().gateway.limits, remoteNodes !== undefined),
    failures: new RateLimiter(() => clock.monotonic()),
    runEvents,
    treeEvents: new TreeEventLog(runEvents, agents.tree, clock, remoteNodes),
    streams: new OpenStreams(() => config().gateway.limits),
    ledger: new RequestLedger(ports, remoteNodes && (() => agents.node)),
    metrics: new Metrics(),
    version,
    startedAt: clock.now(),
    stopping,
    openApi: () => {
      openApi ??= Promise.all([import("./routing/open-api.ts"), loadRoutes(options)]).then(([{ openApiOf }, routes]) =>
        openApiOf(routes, version),
      );
      return openApi;
    },
  };
}

const loadRoutes = async ({ routes }: Pick<GatewayOptions, "routes">): Promise<readonly Route[]> =>
  routes ?? (await import("./route-table.ts")).ROUTES;

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
