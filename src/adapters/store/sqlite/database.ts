/**
 * A SQLite connection with the store's schema: opened, migrated, each SQL text prepared once. The same code serves the
 * file on disk, the database in memory and the simulation. The SQL itself is in the modules of the tables.
 */
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementResultingChanges, StatementSync } from "node:sqlite";
import { StoreClosedError } from "../../../core/errors.ts";
import { AgentCache } from "./agent-cache.ts";
import { openDatabaseSync } from "./database-sync.ts";
import { freeBytes, logPagesFor } from "./disk-room.ts";
import { copyBeforeMigration, migrate } from "./migrate.ts";

/**
 * `text` is a constant of a table's module, never built per call: statements are cached by it. `Row` names the columns the
 * statement selects. All three throw `StoreClosedError` after `close`.
 */
export interface Database {
  readonly sql: DatabaseSync;
  get<Row>(text: string, ...values: readonly SQLInputValue[]): Row | undefined;
  all<Row>(text: string, ...values: readonly SQLInputValue[]): Row[];
  run(text: string, ...values: readonly SQLInputValue[]): StatementResultingChanges;
  /** The agents' rows, kept between changes. */
  readonly agentCache: AgentCache;
  close(): void;
}

interface DatabaseOptions {
  /** SQLite's own flushing. `normal` flushes around checkpoints only; the store adds its own flush of the log. */
  readonly synchronous?: "full" | "normal" | "off";
  readonly readOnly?: boolean;
}

/** The first database in memory, migrated and empty. The next ones are copies of it: the migrations take ten times as long. */
let emptyDatabase: Uint8Array | undefined;

/** How long a statement waits for another connection. */
export const BUSY_MS = 5_000;

/** Opens and migrates. Throws `StoreNewerError` or `MigrationError` and leaves the file unchanged then. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Database {
  const sql = openDatabaseSync(path, { readOnly: options.readOnly, timeout: BUSY_MS });
  const inMemory = path === ":memory:";
  try {
    if (inMemory && emptyDatabase) sql.deserialize(emptyDatabase);
    // SQLite creates the log and its index with the permissions of the database.
    if (!options.readOnly && !inMemory) chmodSync(path, 0o600);
    if (!options.readOnly) {
      sql.exec("PRAGMA journal_mode = WAL");
      sql.exec(`PRAGMA synchronous = ${options.synchronous ?? "full"}`);
      sql.exec(`PRAGMA wal_autocheckpoint = ${logPagesFor(inMemory ? undefined : freeBytes(dirname(path)))}`);
      sql.exec("PRAGMA journal_size_limit = 67108864");
    }
    // Enough for the pages of a group of commits. Other pages are in the system's own cache, a few microseconds away.
    sql.exec("PRAGMA cache_size = -4000");
    sql.exec("PRAGMA temp_store = MEMORY");
    if (!options.readOnly) {
      const copies = inMemory ? undefined : join(dirname(path), "backups");
      if (copies !== undefined) copyBeforeMigration(sql, copies);
      migrate(sql, undefined, copies);
      // Node before 24.16 cannot copy.
      if (inMemory) emptyDatabase ??= sql.serialize?.();
    }
  } catch (error) {
    sql.close();
    throw error;
  }
  return databaseOf(sql);
}

/** SQLite plans for the value of a plain `LIMIT ?`, and compiles the statement again each time one is bound: that takes longer than to execute it. */
const LIMIT = "LIMIT ? + 0";

/** Wraps an open, migrated connection. */
export function databaseOf(sql: DatabaseSync): Database {
  const prepared = new Map<string, StatementSync>();
  let agentCache: AgentCache | undefined;
  let closed = false;
  const statement = (text: string): StatementSync => {
    if (closed) throw new StoreClosedError("The store is closed.");
    let found = prepared.get(text);
    if (!found) {
      found = sql.prepare(text.replaceAll("LIMIT ?", LIMIT));
      prepared.set(text, found);
    }
    return found;
  };
  const db: Database = {
    sql,
    get: <Row>(text: string, ...values: SQLInputValue[]) => statement(text).get(...values) as Row | undefined,
    all: <Row>(text: string, ...values: SQLInputValue[]) => statement(text).all(...values) as Row[],
    run: (text, ...values) => statement(text).run(...values),
    get agentCache() {
      agentCache ??= new AgentCache(db);
      return agentCache;
    },
    close() {
      closed = true;
      sql.close();
    },
  };
  return db;
}
