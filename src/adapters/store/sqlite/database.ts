/**
 * A SQLite database with the store's schema: opened, migrated, and with each statement prepared once from its own file.
 * The same code serves the file on disk, the database in memory and the simulation.
 */
import { chmodSync, readFileSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { StoreClosedError } from "../../../core/errors.ts";
import { AgentDrafts } from "./agent-draft.ts";
import { migrate } from "./migrate.ts";

export interface Database {
  readonly sql: DatabaseSync;
  /** The prepared statement of `sql/<name>.sql`. */
  statement(name: string): StatementSync;
  /** The agents' rows, remembered between changes. */
  readonly drafts: AgentDrafts;
  close(): void;
}

export interface DatabaseOptions {
  /** SQLite's own flushing. `normal` flushes around checkpoints only; the store adds its own flush of the log. */
  readonly synchronous?: "full" | "normal" | "off";
  readonly readOnly?: boolean;
}

/** Opens and migrates. Throws `StoreNewerError` or `MigrationError`; the file is then as it was. */
export function openDatabase(path: string, options: DatabaseOptions = {}): Database {
  const sql = new DatabaseSync(path, { readOnly: options.readOnly ?? false, timeout: 5_000 });
  try {
    // Log and index are made with the rights of the database.
    if (!options.readOnly && path !== ":memory:") chmodSync(path, 0o600);
    if (!options.readOnly) {
      sql.exec("PRAGMA journal_mode = WAL");
      sql.exec(`PRAGMA synchronous = ${options.synchronous ?? "full"}`);
      // Larger than the default, so that the pages every message touches are copied back less often.
      sql.exec("PRAGMA wal_autocheckpoint = 10000");
      sql.exec("PRAGMA journal_size_limit = 67108864");
    }
    sql.exec("PRAGMA cache_size = -16000");
    sql.exec("PRAGMA temp_store = MEMORY");
    if (!options.readOnly) migrate(sql);
  } catch (error) {
    sql.close();
    throw error;
  }
  return databaseOf(sql);
}

/** Wraps an open, migrated connection. */
export function databaseOf(sql: DatabaseSync): Database {
  const prepared = new Map<string, StatementSync>();
  let drafts: AgentDrafts | undefined;
  let closed = false;
  const db: Database = {
    sql,
    get drafts() {
      drafts ??= new AgentDrafts(db);
      return drafts;
    },
    statement(name) {
      if (closed) throw new StoreClosedError("The store is closed.");
      let statement = prepared.get(name);
      if (!statement) {
        statement = sql.prepare(sqlText(name));
        prepared.set(name, statement);
      }
      return statement;
    },
    close() {
      closed = true;
      sql.close();
    },
  };
  return db;
}

const texts = new Map<string, string>();

function sqlText(name: string): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), "utf8");
    texts.set(name, text);
  }
  return text;
}
