/**
 * Opens the store for a change from the command line: the shared database beside its nodes, or the database of the home,
 * which only one process can hold.
 */
import type { HomePaths } from "../../config/paths.ts";
import type { Store } from "../../core/store/store.ts";
import { sharedStoreOf } from "./read-home.ts";

export async function writeHome<T>(paths: HomePaths, write: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStoreOf(paths);
  try {
    return await write(store);
  } finally {
    await store.close();
  }
}

async function openStoreOf(paths: HomePaths): Promise<Store> {
  const url = await sharedStoreOf(paths);
  if (url !== undefined) {
    const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
    return openPostgresStore({ url });
  }
  const { openSqliteStore } = await import("../../adapters/store/sqlite/open-store.ts");
  return openSqliteStore({ home: paths.home });
}
