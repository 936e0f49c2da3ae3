/** Opens the store that several nodes share: the database, the file store, and the plain files if this node writes them. */

import type { Config } from "../../config/config-schema.ts";
import { secretDeps } from "../../config/load-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import type { Log } from "../../core/ports/log.ts";
import type { BlobStore } from "../../core/ports/ports.ts";
import type { SharedMirror } from "./files/follow-shared.ts";
import { databaseFileStore } from "./postgres/file-store.ts";
import { openPostgresStore, type PostgresStore } from "./postgres/open-store.ts";
import type { Environment } from "./shared-store-url.ts";

export interface SharedStore {
  readonly store: PostgresStore;
  readonly files: BlobStore;
  /** How long a silent node counts as alive. */
  readonly leaseMs: number;
  /** Absent: this node writes no plain files. */
  readonly flush?: () => Promise<void>;
  close(): Promise<void>;
}

export interface SharedStoreOptions {
  readonly url: string;
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env?: Environment;
  readonly log: Log;
}

export async function openSharedStore(options: SharedStoreOptions): Promise<SharedStore> {
  const { url, config } = options;
  const store = await openPostgresStore({ url, maxConnections: config.store.maxConnections });
  try {
    const files = await openFiles(options, store);
    const mirror = options.paths.mirror ? await startMirror(options, store) : undefined;
    return {
      store,
      files,
      leaseMs: config.store.leaseSeconds * 1_000,
      flush: mirror?.flush,
      async close() {
        await mirror?.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openFiles({ config, env = {}, paths }: SharedStoreOptions, store: PostgresStore): Promise<BlobStore> {
  const { s3 } = config.store;
  if (!s3) return databaseFileStore(store.connections);
  const deps = secretDeps(paths.home, env);
  const { s3FileStore } = await import("../system/s3-file-store.ts");
  return s3FileStore({
    endpoint: s3.endpoint,
    bucket: s3.bucket,
    region: s3.region,
    prefix: s3.prefix,
    accessKeyId: s3.accessKeyId.reveal(deps),
    secretAccessKey: s3.secretAccessKey.reveal(deps),
  });
}

async function startMirror({ paths, log }: SharedStoreOptions, store: PostgresStore): Promise<SharedMirror> {
  const { followShared } = await import("./files/follow-shared.ts");
  return followShared({ home: paths.home, store, log });
}
