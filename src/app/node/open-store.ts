/** Opens the store of a node: the embedded one of its home, or one that it shares with other nodes. */
import { hostname } from "node:os";
import { startSearch } from "../../adapters/search/sqlite/start-search.ts";
import { type EmbeddedStore, openEmbeddedStore } from "../../adapters/store/open-embedded-store.ts";
import { type Environment, sharedStoreUrl } from "../../adapters/store/shared-store-url.ts";
import { lockHome } from "../../adapters/store/sqlite/home-lock.ts";
import { diskFileStore } from "../../adapters/system/disk-file-store.ts";
import type { Config } from "../../config/config-schema.ts";
import { type HomePaths, searchFile } from "../../config/paths.ts";
import type { Ids } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Leases } from "../../core/ports/cluster.ts";
import type { Log } from "../../core/ports/log.ts";
import type { BlobStore } from "../../core/ports/ports.ts";
import type { SearchIndex } from "../../core/search/search-index.ts";
import type { Store } from "../../core/store/store.ts";
import type { Cluster } from "../../engine/cluster/cluster.ts";

export interface NodeStore {
  readonly store: Store;
  readonly files: BlobStore;
  readonly nodeName: string;
  readonly rebuilt?: EmbeddedStore["rebuilt"];
  /** Absent on a store of the program: nothing is indexed there. */
  readonly search?: SearchIndex;
  /** The plain files are as the store is when it resolves. Absent: this node writes none. */
  readonly flush?: () => Promise<void>;
  /** Absent on an embedded store: no other node uses it. */
  readonly shared?: {
    readonly leaseMs: number;
    readonly cluster: Cluster;
    readonly leases: Leases;
    /** For a connection besides the store's own. */
    readonly connection: { readonly url: string; readonly schema: string };
  };
  close(): Promise<void>;
}

interface NodeStoreOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env?: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly onFatal: (error: unknown) => void;
  readonly stays?: boolean;
  /** A store of the program. The program closes it. */
  readonly store?: Store;
}

export async function openStore(options: NodeStoreOptions): Promise<NodeStore> {
  const { paths, config, clock, env = process.env } = options;
  // In front of the process: what the owner calls this machine in `execNode`.
  const nodeName = `${env.ROOKERY_NODE || hostname()} pid ${process.pid}`;
  if (options.store) return { nodeName, ...(await useGiven(options.store, options)) };
  const url = sharedStoreUrl(paths, config, env);
  if (url !== undefined) return { nodeName, ...(await openSharedWithCluster(url, options)) };
  const { synchronous } = config.store;
  const search = startSearch({
    ...{ databasePath: paths.database, indexPath: searchFile(paths), log: options.log },
    stays: options.stays ?? false,
  });
  const { store, rebuilt, mirror, close } = await openEmbeddedStore({
    ...{ ...options, synchronous, now: clock.now(), onCommitted: search.nudge },
  });
  return {
    ...{ nodeName, store, rebuilt, search, files: diskFileStore(paths.files), flush: mirror.flush },
    async close() {
      await search.close();
      await close();
    },
  };
}

/**
 * One engine uses a store of the program at a time. A node that is still there belongs to a process that died; if it lives, it is
 * fenced: its commits are refused.
 */
async function useGiven(store: Store, { paths, clock, ids }: NodeStoreOptions) {
  const lock = lockHome(paths.home);
  for (const { node, left } of await store.nodes()) {
    if (left) continue;
    await store.commit({ id: ids.change(), site: "node.leave", at: clock.now(), ops: [{ op: "node.leave", node }] });
  }
  return { store, files: diskFileStore(paths.files), close: async () => lock.release() };
}

/** Loads its modules only here: a node alone on its store does not need them. */
async function openSharedWithCluster(url: string, options: NodeStoreOptions) {
  const { paths, config, env, clock, log } = options;
  const [{ openSharedStore }, { openSharedSearch }, { openCluster }] = await Promise.all([
    import("../../adapters/store/open-shared-store.ts"),
    import("../../adapters/search/postgres/open-search.ts"),
    import("../../engine/cluster/cluster.ts"),
  ]);
  // The lock is that of the control socket: the store itself needs none.
  const lock = lockHome(paths.home);
  const { store, files, leaseMs, flush, close } = await openSharedStore({ url, paths, config, env, log }).catch(
    (error) => {
      lock.release();
      throw error;
    },
  );
  const cluster = openCluster({ store, relay: store.relay, leases: store.leases, clock, log });
  const search = openSharedSearch({ store, log, stays: options.stays ?? false });
  return {
    store,
    files,
    flush,
    search,
    shared: { leaseMs, cluster, leases: store.leases, connection: { url, schema: store.connections.options.schema } },
    async close() {
      cluster.stop();
      await search.close();
      await close();
      lock.release();
    },
  };
}
