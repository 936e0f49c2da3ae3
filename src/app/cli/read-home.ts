/**
 * Looks into the store without disturbing whoever works there: the shared database where one is named, otherwise the
 * home's, by a read-only connection and without its lock.
 */
import { existsSync } from "node:fs";
import { openDatabase } from "../../adapters/store/sqlite/database.ts";
import { readerOf } from "../../adapters/store/sqlite/reader.ts";
import type { HomePaths } from "../../config/paths.ts";
import { NotFoundError } from "../../core/errors.ts";
import type { StoreReader } from "../../core/store/store.ts";

export async function readHome<T>(paths: HomePaths, read: (store: StoreReader) => Promise<T>): Promise<T> {
  const shared = await sharedStoreOf(paths);
  if (shared !== undefined) return readShared(shared, read);
  if (!existsSync(paths.database)) {
    throw new NotFoundError(`There is no database in ${paths.home}.`, {
      hint: "Nothing was said here yet; try `echo hi | rookery`.",
    });
  }
  const db = openDatabase(paths.database, { readOnly: true });
  try {
    return await read(readerOf(db));
  } finally {
    db.close();
  }
}

/** The shared database that is meant, if any. */
export async function sharedStoreOf(paths: HomePaths): Promise<string | undefined> {
  const { loadConfig } = await import("../../config/load-config.ts");
  const { sharedStoreUrl } = await import("../../adapters/store/shared-store-url.ts");
  const { config } = await loadConfig(paths, process.env);
  return sharedStoreUrl(paths, config, process.env);
}

async function readShared<T>(url: string, read: (store: StoreReader) => Promise<T>): Promise<T> {
  const { openPostgresReader } = await import("../../adapters/store/postgres/open-reader.ts");
  const store = await openPostgresReader({ url });
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}
