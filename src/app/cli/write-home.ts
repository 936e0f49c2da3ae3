/**
 * Opens the store to change something in it by hand: the shared database beside its nodes, or the home's, which only one
 * process may hold.
 */
import type { HomePaths } from "../../config/paths.ts";
import type { Store } from "../../core/store/store.ts";
import { sharedStoreOf } from "./read-home.ts";

export async function writeHome<T>(paths: HomePaths, write: (store: Store) => Promise<T>): Promise<T> {
  const store = await opened(paths);
  try {
    return await write(store);
  } finally {
    await store.close();
  }
}

async function opened(paths: HomePaths): Promise<Store> {
  const url = await sharedStoreOf(paths);
  if (url !== undefined) {
    const { openPostgresStore } = await import("../../adapters/store/postgres/open-store.ts");
    return openPostgresStore({ url });
  }
  const { openSqliteStore } = await import("../../adapters/store/sqlite/open-store.ts");
  return openSqliteStore({ home: paths.home });
}
