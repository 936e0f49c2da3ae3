/** Opens whichever store a node is to work on: the home's own, alone, or one that several nodes share. */
import { hostname } from "node:os";
import { diskFileStore } from "../../adapters/system/disk-file-store.ts";
import { systemClock } from "../../adapters/system/system-clock.ts";
import type { Config } from "../../config/config-schema.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Ids } from "../../core/ids.ts";
import type { Connector } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { FileStore } from "../../core/ports/ports.ts";
import type { Store } from "../../core/store/store.ts";
import type { Serving } from "./cluster.ts";
import { type EmbeddedStore, openEmbeddedStore } from "./open-embedded-store.ts";
import type { RemoteNodes } from "./relay/relay-events.ts";
import { type Environment, sharedStoreUrl } from "./shared-store-url.ts";

export interface NodeStore {
  readonly store: Store;
  readonly files: FileStore;
  readonly nodeName: string;
  /** Absent: alone on this store. */
  readonly leaseMs?: number;
  readonly rebuilt?: EmbeddedStore["rebuilt"];
  /** The connector, or one that runs on one node at a time where it must. */
  once(connector: Connector): Connector;
  /** Agents that other nodes work on; absent: alone on this store. */
  readonly remoteNodes?: RemoteNodes;
  /** Whom this store is opened for: its events reach the other nodes, and theirs reach it. */
  serves(node: Serving): void;
  close(): Promise<void>;
}

export interface NodeStoreOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env?: Environment;
  readonly ids: Ids;
  readonly log: Log;
  readonly onFatal: (error: unknown) => void;
  readonly stays?: boolean;
}

export async function openStore(options: NodeStoreOptions): Promise<NodeStore> {
  const { paths, config, env, ids, log, onFatal, stays } = options;
  const url = sharedStoreUrl(paths, config, env ?? process.env);
  const nodeName = `${hostname()} pid ${process.pid}`;
  if (url === undefined) {
    const { synchronous } = config.store;
    const { store, rebuilt, close } = await openEmbeddedStore({
      ...{ paths, synchronous, ids, log, onFatal, stays },
      now: systemClock.now(),
    });
    const files = diskFileStore(paths.files);
    return { store, rebuilt, files, nodeName, once: (connector) => connector, serves: () => {}, close };
  }
  const [{ openSharedStore }, { openCluster }] = await Promise.all([
    import("./open-shared-store.ts"),
    import("./cluster.ts"),
  ]);
  const shared = await openSharedStore({ url, paths, config, env, log });
  const { once, serves, remoteNodes, stop } = openCluster(shared.store, { clock: systemClock, log });
  return {
    ...{ store: shared.store, once, serves, remoteNodes, nodeName },
    files: shared.files,
    leaseMs: shared.leaseMs,
    async close() {
      stop();
      await shared.close();
    },
  };
}
