/**
 * The gateway of a node in its own process: one context under every surface. Requests of this process and of the control socket
 * come from the owner; those to `fetch` and to the HTTP port need a token. Each part is opened when it is first needed: most
 * processes are never asked.
 */
import type { HomePaths } from "../../../config/paths.ts";
import { errorText, InvalidInputError } from "../../../core/errors.ts";
import type { Transport } from "../../client/transport.ts";
import { hasOpenForgetting } from "../../operations/forget/open-forgetting.ts";
import type { ContextOptions } from "../create-context.ts";
import type { HttpServer } from "../http/server.ts";
import type { Port, PortOptions } from "../open-port.ts";
import type { GatewayContext, Reload } from "../routing/gateway-context.ts";
import type { FetchHandler } from "./fetch-handler.ts";

export interface ServedHere {
  /** For the connections of the control socket. */
  server(): Promise<HttpServer>;
  /** Requests of this process. */
  readonly transport: Transport;
  readonly fetch: FetchHandler;
  /** Opens the HTTP port. `close` closes it. Rejects with `ConfigError` if the address cannot be used. */
  listen(options?: PortOptions): Promise<Port>;
  /** Answers waiting requests with 503, closes the streams and the port. Accepted messages stay accepted. */
  close(): Promise<void>;
}

interface HereOptions extends Pick<ContextOptions, "node" | "settings" | "routes" | "env" | "limits"> {
  readonly paths: HomePaths;
  /** The address of the shared store, if the node uses one. */
  readonly store?: string;
  /** The token of the owner, for `fetch` and the HTTP port. Read with the first request. */
  readonly rootToken?: () => string;
  /** Default: this process cannot reload its configuration. */
  readonly reload?: Reload;
  /** Default: that of the package. */
  readonly version?: string;
}

/** Which surface is asked first decides which routes are loaded first. A request for any other route loads the rest. */
type Asker = "program" | "network";

export function serveHere(options: HereOptions): ServedHere {
  const stopping = new AbortController();
  let opening: ReturnType<typeof open> | undefined;
  const opened = (first: Asker) => {
    opening ??= open(options, stopping.signal, first);
    return opening;
  };
  return {
    server: async () => (await opened("program")).server(),
    transport: async (request) => (await opened("program")).transport(request),
    fetch: async (request, env) => (await opened("network")).fetch(request, env),
    listen: async (port) => (await opened("network")).listen(port),
    async close() {
      stopping.abort();
      await (await opening)?.close();
    },
  };
}

async function open(options: HereOptions, stopping: AbortSignal, first: Asker) {
  const { node, settings, paths, env, store, rootToken, reload = cannotReload, routes, limits } = options;
  const [{ closeContext, createContext, loadRoutes }, early, { lazyRouter }, { readVersion }, here] =
    await loadGateway(first);
  const { version = readVersion() } = options;
  const about = { node, settings, reload, paths, env, rootToken: rootToken?.(), version, routes, limits };
  const context = await createContext(about, stopping);
  const router = lazyRouter(routes ?? early, () => loadRoutes(options));
  let server: HttpServer | undefined;
  let port: Port | undefined;
  let stopFollowing: (() => void) | undefined;
  const follow = async (): Promise<void> => {
    const { followTokens } = await import("../follow-tokens.ts");
    stopFollowing ??= followTokens(context);
  };
  const fetch = here.fetchHandler(context, router);
  return {
    async server() {
      const { controlServer } = await import("../control/control-server.ts");
      server ??= controlServer(context, router, store);
      return server;
    },
    transport: here.ownerTransport(context, router),
    async fetch(...request: Parameters<FetchHandler>) {
      if (!stopFollowing) await follow();
      return fetch(...request);
    },
    async listen(at: PortOptions = {}) {
      const { openPort } = await import("../open-port.ts");
      port = await openPort(context, router, at);
      await follow();
      void finishForgetting(context).catch((error) =>
        node.ports.log.warn("a person is not wholly forgotten yet", { error: errorText(error) }),
      );
      return port;
    },
    async close() {
      stopFollowing?.();
      context.streams.closeAll("shutdown");
      await port?.close();
      await closeContext(context);
    },
  };
}

/** Completes what a killed process began. */
async function finishForgetting(context: GatewayContext): Promise<void> {
  if (!(await hasOpenForgetting(context.ports))) return;
  const { finishForgetting: finish } = await import("../api/forget-routes.ts");
  await finish(context);
}

/** The modules. A program that will send messages loads them while its store is opened. */
export const loadGateway = (first: Asker) =>
  Promise.all([
    import("../create-context.ts"),
    earlyRoutes(first),
    import("../routing/router.ts"),
    import("../../../adapters/system/version.ts"),
    import("./fetch-handler.ts"),
  ]);

async function earlyRoutes(first: Asker) {
  if (first === "network") return (await import("../eager-routes.ts")).EAGER_ROUTES;
  // Most programs send messages first.
  return (await import("../api/inbox-routes.ts")).inboxRoutes;
}

const cannotReload: Reload = () =>
  Promise.reject(new InvalidInputError("This process cannot reload its configuration.", { hint: "Start it again." }));
