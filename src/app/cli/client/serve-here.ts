/** The control server of a node in this process, made when it is first needed: most processes of a command are never asked. */
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import type { ServedNode } from "../../gateway/create-context.ts";
import type { HttpServer } from "../../gateway/http/server.ts";

export interface ServedHere {
  server(): Promise<HttpServer>;
  close(): Promise<void>;
}

export interface HereOptions {
  readonly node: ServedNode;
  readonly config: Config;
  readonly paths: HomePaths;
  /** The address of the shared store, if the node uses one. */
  readonly store?: string;
}

export function serveHere(options: HereOptions): ServedHere {
  const stopping = new AbortController();
  let opening: ReturnType<typeof open> | undefined;
  return {
    async server() {
      opening ??= open(options, stopping.signal);
      return (await opening).server;
    },
    async close() {
      stopping.abort();
      await (await opening)?.close();
    },
  };
}

async function open({ node, config, paths, store }: HereOptions, stopping: AbortSignal) {
  const [{ closeContext, createContext, loadRoutes }, { controlServer }, { lazyRouter }, { readVersion }] =
    await Promise.all([
      import("../../gateway/create-context.ts"),
      import("../../gateway/control/control-server.ts"),
      import("../../gateway/routing/router.ts"),
      import("../../../adapters/system/version.ts"),
    ]);
  const reload = () =>
    Promise.reject(new InvalidInputError("This process cannot reload its configuration.", { hint: "Start it again." }));
  const about = { node, config: () => config, reload, tokenFile: paths.tokens, version: readVersion() };
  const context = await createContext(about, stopping);
  const router = lazyRouter([], () => loadRoutes({}));
  return { server: controlServer(context, router, store), close: () => closeContext(context) };
}
