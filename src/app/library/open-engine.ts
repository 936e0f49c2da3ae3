/**
 * An engine in this process: a node, the gateway inside the process, and the control socket of its home, so that commands and
 * other programs reach it. `createRookery`, `rookery serve` and `rookery run` open it here and nowhere else.
 */
import { sharedStoreUrl } from "../../adapters/store/shared-store-url.ts";
import { openControl } from "../gateway/control/open-control.ts";
import { type ServedHere, serveHere } from "../gateway/in-process/serve-here.ts";
import type { Reload } from "../gateway/routing/gateway-context.ts";
import { type NodeOptions, openNode, type RookeryNode } from "../node/open-node.ts";

export interface EngineOptions extends NodeOptions {
  /** The token of the owner, for requests to `fetch` and to the HTTP port. */
  readonly rootToken?: () => string;
  /** How the engine reads its configuration again. Default: it cannot. */
  readonly reload?: Reload;
  /** False: no control socket. For a home that no one else knows. */
  readonly control?: boolean;
}

export interface Engine {
  readonly node: RookeryNode;
  readonly served: ServedHere;
  /** Closes the surfaces, suspends all work and closes the store. Unfinished work resumes at the next start. */
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process uses the home. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { paths, config, env, rootToken, reload, control = true } = options;
  const node = await openNode(options);
  const store = options.store ? undefined : sharedStoreUrl(paths, config, env);
  const served = serveHere({ node, config: () => node.config, paths, store, rootToken, reload });
  const socket = control ? await openControl(paths.home, node.ports, () => served.server()) : undefined;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    node.limitStop();
    await Promise.all([socket?.close(), served.close()]);
    await node.close();
  };
  return {
    node,
    served,
    close() {
      closed ??= close();
      return closed;
    },
  };
}
