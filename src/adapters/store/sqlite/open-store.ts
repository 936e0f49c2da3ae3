/** Opens the embedded store on a file: lock, database, group commit. */
import { join } from "node:path";
import type { Store } from "../../../core/store/store.ts";
import { type Database, openDatabase } from "./database.ts";
import { type GroupCommit, groupCommit } from "./group-commit.ts";
import { lockHome } from "./home-lock.ts";
import { openLogFlush } from "./log-flush.ts";
import { outcomeOf, readerOf } from "./reader.ts";

export interface SqliteStoreOptions {
  readonly home: string;
  /**
   * `full`: a commit is on the disk when it is answered. `normal`: a power loss may take the last moments (a kill never
   * does). `off` is for tests that must fail.
   */
  readonly synchronous?: "full" | "normal" | "off";
  readonly maxBatch?: number;
  /** Called with the home locked, before the database is opened: to look at it, or to rebuild it. */
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
    // The lock says that no other node of this home lives, whatever their leases say.
    db.statement("retire-nodes").run();
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

/** The same store in memory: for tests, and for trying things out without a home. */
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
    // The only node there is wakes its agents by what its own commits say.
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
