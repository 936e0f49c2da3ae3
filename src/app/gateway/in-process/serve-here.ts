/**
 * The gateway of a node inside its own process, opened when it is first needed: most processes are never asked. Requests of
 * this process and of the control socket come from the owner; those to `fetch` need a token, as on the HTTP port.
 */
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { Transport } from "../../client/transport.ts";
import type { ServedNode } from "../create-context.ts";
import type { HttpServer } from "../http/server.ts";
import type { FetchHandler } from "./fetch-handler.ts";

export interface ServedHere {
  /** For the connections of the control socket. */
  server(): Promise<HttpServer>;
  /** Requests of this process. */
  readonly transport: Transport;
  readonly fetch: FetchHandler;
  close(): Promise<void>;
}

export interface HereOptions {
  readonly node: ServedNode;
  readonly config: () => Config;
  readonly paths: HomePaths;
  /** The address of the shared store, if the node uses one. */
  readonly store?: string;
  /** The token of the owner, for `fetch`. Read with the first request. */
  readonly rootToken?: () => string;
}

export function serveHere(options: HereOptions): ServedHere {
  const stopping = new AbortController();
  let opening: ReturnType<typeof open> | undefined;
  const opened = () => {
    opening ??= open(options, stopping.signal);
    return opening;
  };
  return {
    server: async () => (await opened()).server(),
    transport: async (request) => (await opened()).transport(request),
    fetch: async (request, env) => (await opened()).fetch(request, env),
    async close() {
      stopping.abort();
      await (await opening)?.close();
    },
  };
}

async function open({ node, config, paths, store, rootToken }: HereOptions, stopping: AbortSignal) {
  const [{ closeContext, createContext, loadRoutes }, { inboxRoutes }, { lazyRouter }, { readVersion }, here] =
    await Promise.all([
      import("../create-context.ts"),
      // Most programs send messages first. A request for any other route loads the rest.
      import("../api/inbox-routes.ts"),
      import("../routing/router.ts"),
      import("../../../adapters/system/version.ts"),
      import("./fetch-handler.ts"),
    ]);
  const reload = () =>
    Promise.reject(new InvalidInputError("This process cannot reload its configuration.", { hint: "Start it again." }));
  const about = { node, config, reload, tokenFile: paths.tokens, rootToken: rootToken?.(), version: readVersion() };
  const context = await createContext(about, stopping);
  const router = lazyRouter(inboxRoutes, () => loadRoutes({}));
  let server: HttpServer | undefined;
  return {
    async server() {
      const { controlServer } = await import("../control/control-server.ts");
      server ??= controlServer(context, router, store);
      return server;
    },
    transport: here.ownerTransport(context, router),
    fetch: here.fetchHandler(context, router),
    async close() {
      context.streams.closeAll("shutdown");
      await closeContext(context);
    },
  };
}
