/**
 * The database of a world: the real schema and statements, in memory or on a file. In memory there is one per process,
 * emptied between worlds. On a file it has its write-ahead log and frequent checkpoints, and whenever a node starts it is
 * reopened from a copy of the files on disk, as after a kill at that moment.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyGroup, outcomeOf } from "../../../src/adapters/store/sqlite/apply-change.ts";
import { type Database, openDatabase } from "../../../src/adapters/store/sqlite/database.ts";
import { retireNodes } from "../../../src/adapters/store/sqlite/nodes.ts";
import { readerOf } from "../../../src/adapters/store/sqlite/reader.ts";
import type { Backend, ServerBackend } from "./sim-store.ts";

export interface WorldDatabase {
  /** The current connection; a new one after each reopening of a file. */
  readonly db: Database;
  readonly backend: ServerBackend;
  /** The effect of a node start on the database. `alone`: the home's lock proves that no other node is alive. */
  reopen(alone: boolean): void | Promise<void>;
  /** Resolves when the server has answered everything; undefined if nothing is in progress. */
  idle?(): Promise<void> | undefined;
  close(): void;
}

let inMemory: { readonly db: Database; readonly clear: string } | undefined;

export function memoryDatabase(): WorldDatabase {
  if (!inMemory) {
    const db = openDatabase(":memory:");
    const tables = db.sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'meta'").all();
    inMemory = { db, clear: tables.map(({ name }) => `DELETE FROM ${String(name)};`).join("") };
  }
  const { db, clear } = inMemory;
  db.sql.exec(`BEGIN; ${clear} COMMIT`);
  db.agentCache.clear();
  return {
    db,
    backend: backendOf(() => db),
    reopen(alone) {
      if (!alone) return;
      db.agentCache.clear();
      retireNodes(db);
    },
    close() {},
  };
}

/** Pages in the log before a checkpoint: few, so that every world has many checkpoints. */
const CHECKPOINT_PAGES = 12;

export function fileDatabase(): WorldDatabase {
  const home = mkdtempSync(join(tmpdir(), "rookery-sim-"));
  let copies = 0;
  const path = (): string => join(home, `${copies}.db`);
  let db = opened(path());
  return {
    get db() {
      return db;
    },
    backend: backendOf(() => db),
    reopen(alone) {
      const before = db;
      const from = path();
      copies += 1;
      // Without a checkpoint: copies the database and its log, but not the index, which dies with its process.
      for (const suffix of ["", "-wal"]) {
        if (existsSync(`${from}${suffix}`)) copyFileSync(`${from}${suffix}`, `${path()}${suffix}`);
      }
      db = opened(path());
      if (alone) retireNodes(db);
      before.close();
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${from}${suffix}`, { force: true });
    },
    close() {
      db.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function opened(path: string): Database {
  // A kill leaves what was written to the kernel, flushed or not; power loss is tested elsewhere.
  const db = openDatabase(path, { synchronous: "off" });
  db.sql.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  return db;
}

function backendOf(db: () => Database): Backend {
  let made: { readonly of: Database; readonly reader: Backend["reader"] } | undefined;
  return {
    get reader() {
      const now = db();
      if (made?.of !== now) made = { of: now, reader: readerOf(now) };
      return made.reader;
    },
    apply: (changes) => applyGroup(db(), changes),
    outcome: (id) => outcomeOf(db(), id),
  };
}
