/**
 * An engine in this process: a node, the gateway inside the process, and the control socket of its home, so that commands and
 * other programs reach it. `createRookery`, `rookery serve` and `rookery send` open it here and nowhere else. It keeps the process
 * alive until it is closed, so no pending promise of it ends the process with code 13 (M49).
 */
import { sharedStoreUrl } from "../../adapters/store/shared-store-url.ts";
import { holdProcess } from "../../adapters/system/hold-process.ts";
import { openControl } from "../gateway/control/open-control.ts";
import type { GatewayLimits } from "../gateway/http/gateway-limits.ts";
import { type ServedHere, serveHere } from "../gateway/in-process/serve-here.ts";
import type { Reload } from "../gateway/routing/gateway-context.ts";
import { type NodeOptions, openNode, type RookeryNode } from "../node/open-node.ts";

interface EngineOptions extends NodeOptions {
  /** The token of the owner, for requests to `fetch` and to the HTTP port. */
  readonly rootToken?: () => string;
  /** How the engine reads its configuration again. Default: it cannot. */
  readonly reload?: Reload;
  /** False: no control socket. For a home that no one else knows. */
  readonly control?: boolean;
  /** For tests that must reach a limit of the gateway. */
  readonly limits?: Partial<GatewayLimits>;
}

export interface Engine {
  readonly node: RookeryNode;
  readonly served: ServedHere;
  /** Closes the surfaces, suspends all work and closes the store. Unfinished work resumes at the next start. */
  close(): Promise<void>;
}

/** Rejects with `HomeLockedError` if another process uses the home. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const release = holdProcess();
  try {
    const engine = await openHeld(options);
    let closed: Promise<void> | undefined;
    return {
      ...engine,
      close() {
        closed ??= engine.close().finally(release);
        return closed;
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

async function openHeld(options: EngineOptions): Promise<Engine> {
  const { paths, config, env, rootToken, reload, control = true, limits } = options;
  const node = await openNode(options);
  const store = options.store ? undefined : sharedStoreUrl(paths, config, env);
  const served = serveHere({ node, settings: node.settings, paths, store, rootToken, reload, limits });
  const socket = control ? await openControl(paths.home, node.ports, () => served.server()) : undefined;
  return {
    node,
    served,
    async close() {
      node.limitStop();
      await Promise.all([socket?.close(), served.close()]);
      await node.close();
    },
  };
}
