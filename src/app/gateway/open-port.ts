/** The HTTP port of an engine: a server over the route table, open from `openPort` to `close`. */
import { collectWhenIdle } from "../../adapters/system/collect-when-idle.ts";
import { assertSecureBind, requestPolicy } from "./auth/request-policy.ts";
import { type Certificate, closeServer, createServer, listen } from "./http/server.ts";
import type { GatewayContext } from "./routing/gateway-context.ts";
import { requestListener } from "./routing/request-listener.ts";
import type { LazyRouter } from "./routing/router.ts";

export interface PortOptions {
  /** Override `gateway.port` and `gateway.host`. */
  readonly port?: number;
  readonly host?: string;
  readonly tls?: Certificate;
}

export interface Port {
  readonly url: string;
  readonly port: number;
  readonly context: GatewayContext;
  /** Follows a changed configuration: its certificate. */
  renew(tls: Certificate | undefined): void;
  /** Closes the server. Call it when its streams are closed. */
  close(): Promise<void>;
}

/** Rejects with `ConfigError` if the address cannot be used, or is not safe. */
export async function openPort(context: GatewayContext, router: LazyRouter, options: PortOptions): Promise<Port> {
  const { tls } = options;
  const { gateway } = context.settings.current;
  const host = options.host ?? gateway.host;
  const isSecure = tls !== undefined;
  assertSecureBind(host, isSecure, gateway.trustedProxies);
  const { clock } = context.ports;
  const collector = collectWhenIdle(clock);
  const onRequest = requestListener({
    context,
    surface: "network",
    router,
    policy: () => requestPolicy(context.settings.current, host, isSecure),
    onRequestEnd: () => collector.worked(),
  });
  const server = createServer({ tls, limits: context.limits, onRequest });
  const port = await listen(server, options.port ?? gateway.port, host);
  const url = `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  context.address.url = url;
  return {
    url,
    port,
    context,
    renew(next) {
      if (next && "setSecureContext" in server) server.setSecureContext(next);
    },
    async close() {
      collector.stop();
      await closeServer(server, clock);
    },
  };
}
