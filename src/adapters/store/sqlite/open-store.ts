/** Opens the embedded store on a file: lock, database, group commit. */
import { join } from "node:path";
import type { Store } from "../../../core/store/store.ts";
import { outcomeOf } from "./apply-change.ts";
import { type Database, openDatabase } from "./database.ts";
import { type GroupCommit, groupCommit, openLogFlush } from "./group-commit.ts";
import { lockHome } from "./home-lock.ts";
import { retireNodes } from "./nodes.ts";
import { readerOf } from "./reader.ts";

export interface SqliteStoreOptions {
  readonly home: string;
  /**
   * `full`: a commit is on the disk when it is answered. `normal`: a power loss may lose the last moments (a kill does
   * not). `off` is for tests that must fail.
   */
  readonly synchronous?: "full" | "normal" | "off";
  readonly maxBatch?: number;
  /** Called with the home locked, before the database is opened: to inspect or rebuild it. */
  readonly beforeOpen?: (path: string) => void;
  /** Called with the database open, before anything is committed. */
  readonly afterOpen?: (db: Database) => void;
  readonly onCommitted?: () => void;
  readonly onFatal?: (error: unknown) => void;
}

export const DATABASE_FILE = "rookery.db";

export function openSqliteStore(options: SqliteStoreOptions): Store {
  const lock = lockHome(options.home);
  try {
    const path = join(options.home, DATABASE_FILE);
    options.beforeOpen?.(path);
    const mode = options.synchronous ?? "full";
    const db = openDatabase(path, { synchronous: mode === "off" ? "off" : "normal" });
    options.afterOpen?.(db);
    // This process holds the lock, so no other node of this home runs, even if its lease has not ended.
    retireNodes(db);
    const log = mode === "full" ? openLogFlush(path) : undefined;
    const group = groupCommit(db, {
      log,
      maxBatch: options.maxBatch,
      onCommitted: options.onCommitted,
      onFatal: options.onFatal ?? raise,
    });
    return storeOn(db, group, async () => {
      await group.close();
      log?.close();
      db.close();
      lock.release();
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The same store in memory: for tests, and for use without a home. */
export function openMemoryStore(): Store {
  const db = openDatabase(":memory:");
  const group = groupCommit(db, { onFatal: raise });
  return storeOn(db, group, async () => {
    await group.close();
    db.close();
  });
}

function storeOn(db: Database, group: GroupCommit, close: () => Promise<void>): Store {
  let closing: Promise<void> | undefined;
  return {
    ...readerOf(db),
    commit: group.commit,
    outcome: async (id) => outcomeOf(db, id),
    // There is no other node: this one wakes its agents by the results of its own commits.
    onHint: () => () => {},
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function raise(error: unknown): never {
  throw error;
}
