/**
 * Reads the store beside a running node: the shared database if one is named, else the database of the home, through a
 * read-only connection and without its lock.
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
      hint: "Send a first message with `echo hi | rookery`, or choose another directory with --home.",
    });
  }
  const db = openDatabase(paths.database, { readOnly: true });
  try {
    return await read(readerOf(db));
  } finally {
    db.close();
  }
}

/** The URL of the shared database, if one is named. */
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
