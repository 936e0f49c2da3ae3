/** The database of a world: the real schema and statements in memory. One per process, emptied between worlds. */

import { applyGroup } from "../../src/store/sqlite/apply-change.ts";
import { type Database, openDatabase } from "../../src/store/sqlite/database.ts";
import { outcomeOf, readerOf } from "../../src/store/sqlite/reader.ts";
import type { Backend } from "./sim-store.ts";

let opened: { readonly db: Database; readonly clear: string } | undefined;

export function emptyDatabase(): Database {
  if (!opened) {
    const db = openDatabase(":memory:");
    const tables = db.sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'meta'").all();
    opened = { db, clear: tables.map(({ name }) => `DELETE FROM ${String(name)};`).join("") };
  }
  opened.db.sql.exec(`BEGIN; ${opened.clear} COMMIT`);
  opened.db.drafts.forget();
  return opened.db;
}

/** What opening a home does: what the last process remembered is gone, and by the home's lock no other node lives. */
export function reopen(db: Database): void {
  db.drafts.forget();
  db.statement("retire-nodes").run();
}

export const backendOf = (db: Database): Backend => ({
  reader: readerOf(db),
  apply: (changes) => applyGroup(db, changes),
  outcome: (id) => outcomeOf(db, id),
});
