/**
 * The store for commands that only read while no engine answers: the shared database if one is named, else the database of the
 * home, through a read-only connection and without its lock. What is missing or cannot be read is an error that says what to do.
 */
import { existsSync } from "node:fs";
import { openDatabase } from "../../adapters/store/sqlite/database.ts";
import { readerOf } from "../../adapters/store/sqlite/reader.ts";
import type { Environment } from "../../config/parse-config.ts";
import type { HomePaths } from "../../config/paths.ts";
import { StoreMissingError, StoreUnreadableError } from "../../core/errors.ts";
import type { StoreReader } from "../../core/store/store.ts";

export interface HomeReader extends StoreReader {
  close(): Promise<void>;
}

export async function openHomeReader(paths: HomePaths, env: Environment = process.env): Promise<HomeReader> {
  const shared = await sharedStoreOf(paths, env);
  if (shared !== undefined) {
    const { openPostgresReader } = await import("../../adapters/store/postgres/open-reader.ts");
    return openPostgresReader({ url: shared });
  }
  await requireDatabase(paths);
  try {
    const db = openDatabase(paths.database, { readOnly: true });
    return { ...explaining(paths, readerOf(db)), close: async () => db.close() };
  } catch (error) {
    throw await explained(paths, error);
  }
}

/** For a check of the home itself. */
export async function readHome<T>(paths: HomePaths, read: (store: StoreReader) => Promise<T>): Promise<T> {
  const store = await openHomeReader(paths);
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

/** The reader with the errors of SQLite explained. */
function explaining(paths: HomePaths, reader: StoreReader): StoreReader {
  const methods = Object.entries(reader as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>);
  const careful = methods.map(([name, method]) => [
    name,
    async (...args: unknown[]) => {
      try {
        return await method(...args);
      } catch (error) {
        throw await explained(paths, error);
      }
    },
  ]);
  return Object.fromEntries(careful) as unknown as StoreReader;
}

/** Throws if the home has no database. A command that only reads must not make one. */
async function requireDatabase({ home, database }: HomePaths): Promise<void> {
  if (existsSync(database)) return;
  const { rebuildNeeded, refuseUnreadable } = await import("../../adapters/store/files/inspect.ts");
  refuseUnreadable(database);
  throw new StoreMissingError(`There is no database in ${home}.`, {
    hint: rebuildNeeded(home, database)
      ? "Start `rookery serve`: it rebuilds the database from the plain files."
      : "Send a first message with `rookery send hello`, or choose another directory with --home.",
  });
}

/** An error of SQLite as what it means for the database; any other error as it is. */
async function explained({ database }: HomePaths, error: unknown): Promise<unknown> {
  if (typeof (error as { errcode?: unknown } | undefined)?.errcode !== "number") return error;
  const { refuseUnreadable } = await import("../../adapters/store/files/inspect.ts");
  try {
    refuseUnreadable(database);
  } catch (problem) {
    return problem;
  }
  return new StoreUnreadableError(`${database} cannot be read: ${(error as Error).message}.`, {
    cause: error,
    hint: "If it is from an older version, start `rookery serve` once. Else run `rookery engine repair`: it keeps the broken file.",
  });
}

/** The URL of the shared database, if one is named. Of the configuration only that section is checked. */
export async function sharedStoreOf(paths: HomePaths, env: Environment = process.env): Promise<string | undefined> {
  const { loadSection } = await import("../../config/load-config.ts");
  const { sharedStoreUrl } = await import("../../adapters/store/shared-store-url.ts");
  return sharedStoreUrl(paths, { store: await loadSection(paths, env, "store") }, env);
}
