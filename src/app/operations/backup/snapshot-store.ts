/**
 * Writes the state of a store into a fresh SQLite file: one read transaction, beside a running engine, whose work goes on. A shared
 * store is copied from one snapshot of its database, with its blobs.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { refuseUnreadable } from "../../../adapters/store/files/inspect.ts";
import { sharedStoreUrl } from "../../../adapters/store/shared-store-url.ts";
import { openDatabaseSync } from "../../../adapters/store/sqlite/database-sync.ts";
import { versionOf } from "../../../adapters/store/sqlite/migrate.ts";
import type { Config } from "../../../config/config-schema.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { StoreMissingError, StoreUnreadableError } from "../../../core/errors.ts";
import { blobsOf } from "../../../core/message/blobs-of.ts";
import type { StoredFile } from "../../../core/message/stored-file.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { BlobStore } from "../../../core/ports/ports.ts";

export interface SnapshotOptions {
  readonly paths: HomePaths;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface StoreSnapshot {
  readonly store: "home" | "shared";
  /** Blobs that are not files of the home. */
  readonly blobs?: BlobStore;
  close(): Promise<void>;
}

/** Writes `file`, which must not exist. Rejects if the store cannot be read. */
export async function snapshotStore(options: SnapshotOptions, file: string): Promise<StoreSnapshot> {
  const { paths, config, env } = options;
  const url = sharedStoreUrl(paths, config, env);
  if (url !== undefined) return snapshotShared(options, url, file);
  if (!statSync(paths.database, { throwIfNoEntry: false })) {
    throw new StoreMissingError(`There is no database in ${paths.home}.`, {
      hint: "There is nothing to back up. Choose another directory with --home.",
    });
  }
  refuseUnreadable(paths.database);
  const sql = openDatabaseSync(paths.database, { readOnly: true, timeout: 30_000 });
  try {
    sql.prepare("VACUUM INTO ?").run(file);
  } finally {
    sql.close();
  }
  return { store: "home", close: async () => {} };
}

async function snapshotShared(
  { paths, config, env }: SnapshotOptions,
  url: string,
  file: string,
): Promise<StoreSnapshot> {
  const [{ copyStore }, { postgresEnd }, { sqliteEnd }, { openSharedStore }] = await Promise.all([
    import("../../../adapters/store/copy/copy-store.ts"),
    import("../../../adapters/store/copy/postgres-end.ts"),
    import("../../../adapters/store/copy/sqlite-end.ts"),
    import("../../../adapters/store/open-shared-store.ts"),
  ]);
  const home = join(dirname(file), "shared");
  mkdirSync(home, { mode: 0o700 });
  const from = await postgresEnd(url, { besideNodes: true });
  try {
    const to = sqliteEnd(home);
    try {
      await copyStore(from, to);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
  const copy = openDatabaseSync(join(home, "rookery.db"));
  try {
    copy.prepare("VACUUM INTO ?").run(file);
  } finally {
    copy.close();
  }
  const shared = await openSharedStore({ url, paths, config, env, log: silentLog });
  return { store: "shared", blobs: shared.files, close: () => shared.close() };
}

interface DatabaseFacts {
  readonly schema: number;
  readonly rows: Readonly<Record<string, number>>;
  /** The blobs that its rows name. */
  readonly blobs: readonly string[];
}

/** Opens a database file that nothing else uses and checks every page. Throws `StoreUnreadableError` if it is not sound. */
export function inspectSnapshot(file: string): DatabaseFacts {
  const sql = openDatabaseSync(file, { readOnly: true });
  try {
    const [fault] = sql.prepare("PRAGMA integrity_check(1)").all();
    const text = String(Object.values(fault ?? {})[0] ?? "no answer");
    const schema = versionOf(sql);
    if (text !== "ok" || schema === 0) throw unsound(schema === 0 ? "it is not a database of Rookery" : text);
    return { schema, rows: countRows(sql), blobs: blobsIn(sql) };
  } catch (cause) {
    if (cause instanceof StoreUnreadableError) throw cause;
    throw unsound((cause as Error).message, cause);
  } finally {
    sql.close();
  }
}

const unsound = (reason: string, cause?: unknown): StoreUnreadableError =>
  new StoreUnreadableError(`The database of the backup cannot be used: ${reason}.`, {
    cause,
    hint: "Use another backup. Nothing was changed.",
  });

function countRows(sql: DatabaseSync): Readonly<Record<string, number>> {
  const tables = sql
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => [
      String(name),
      Number(sql.prepare(`SELECT count(*) AS count FROM "${name}"`).get()?.count),
    ]),
  );
}

/** Schemas before the 13th have no stored files. */
function blobsIn(sql: DatabaseSync): readonly string[] {
  if (versionOf(sql) < 13) return [];
  const names = new Set<string>();
  for (const { record } of sql.prepare("SELECT record FROM stored_files").iterate()) {
    for (const blob of blobsOf(JSON.parse(String(record)) as StoredFile)) names.add(blob);
  }
  return [...names].sort();
}
