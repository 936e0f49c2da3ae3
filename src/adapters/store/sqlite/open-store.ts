/** Opens the embedded store on a file: lock, database, group commit. */
import { join } from "node:path";
import { StoreClosedError, StoreFullError, type StoreLostError } from "../../../core/errors.ts";
import type { Store } from "../../../core/store/store.ts";
import { outcomeOf } from "./apply-change.ts";
import { type Database, openDatabase } from "./database.ts";
import { hasNoRoom, isOutOfRoom } from "./disk-room.ts";
import { eraserOf } from "./erase.ts";
import { giveBackAtRest } from "./give-back.ts";
import { type GroupCommit, groupCommit, openLogFlush } from "./group-commit.ts";
import { type HomeFiles, type HomeIdentity, homeFiles, identifyHome } from "./home-files.ts";
import { lockHome } from "./home-lock.ts";
import { retireNodes } from "./nodes.ts";
import { readerOf } from "./reader.ts";

interface SqliteStoreOptions {
  readonly home: string;
  /**
   * `full`: a commit is on the disk when it is answered. `normal`: a power loss may lose the last moments (a kill does
   * not). `off` is for tests that must fail.
   */
  readonly synchronous?: "full" | "normal" | "off";
  readonly maxBatch?: number;
  /** How long after the last commit it gives back memory and the room of its log. */
  readonly restAfterMs?: number;
  /** Called with the home locked, before the database is opened: to inspect or rebuild it. */
  readonly beforeOpen?: (path: string) => void;
  /** Called with the database open, before anything is committed. */
  readonly afterOpen?: (db: Database) => void;
  readonly onCommitted?: () => void;
  readonly onFatal?: (error: unknown) => void;
  /** Called once when the home is found deleted, moved or replaced. */
  readonly onLost?: (error: StoreLostError) => void;
  /** Called when it is back. */
  readonly onFound?: () => void;
  /** Called once when the disk becomes full. */
  readonly onFull?: (error: StoreFullError) => void;
  /** Called when a commit succeeds again. */
  readonly onRoom?: () => void;
}

interface SqliteStore extends Store {
  /** The files this process opened. */
  readonly identity: HomeIdentity;
}

export const DATABASE_FILE = "rookery.db";

export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  // The first command of a newcomer may be any that writes.
  const lock = lockHome(options.home, { make: true });
  try {
    const path = join(options.home, DATABASE_FILE);
    options.beforeOpen?.(path);
    const mode = options.synchronous ?? "full";
    const db = openDatabase(path, { synchronous: mode === "off" ? "off" : "normal" });
    // This process holds the lock, so no other node of this home runs, even if its lease has not ended.
    retireNodes(db);
    options.afterOpen?.(db);
    const log = mode === "full" ? openLogFlush(path) : undefined;
    const identity = identifyHome(options.home);
    const files = homeFiles(options.home, identity, options);
    const rest = giveBackAtRest(db, options.restAfterMs);
    const group = groupCommit(db, {
      log,
      lost: files.lost,
      directory: options.home,
      onFull: options.onFull,
      onRoom: options.onRoom,
      maxBatch: options.maxBatch,
      onCommitted() {
        rest.committed();
        options.onCommitted?.();
      },
      onFatal: options.onFatal ?? raise,
    });
    const close = async (): Promise<void> => {
      await group.close();
      rest.stop();
      log?.close();
      db.close();
      lock.release();
    };
    return { ...storeOn(db, group, close, files, options.home), identity };
  } catch (error) {
    lock.release();
    if (!isOutOfRoom(error, options.home)) throw error;
    throw new StoreFullError(`The disk of ${options.home} is full: ${(error as Error).message}.`, {
      cause: error,
      hint: "Make room and start again. Nothing is damaged.",
    });
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

function storeOn(
  db: Database,
  group: GroupCommit,
  close: () => Promise<void>,
  files?: HomeFiles,
  directory?: string,
): Store {
  const assertPresent = (): void => {
    const lost = files?.lost();
    if (lost) throw lost;
  };
  let closing: Promise<void> | undefined;
  return {
    ...readerOf(db),
    eraser: eraserOf(db),
    commit: group.commit,
    async outcome(id) {
      const outcome = outcomeOf(db, id);
      // No later process finds an outcome in lost files.
      assertPresent();
      return outcome;
    },
    async ready() {
      if (!db.sql.isOpen) throw new StoreClosedError("The store is closed.");
      assertPresent();
      const full = group.full();
      // Without this look, a process that gets no messages because it is not ready would never be ready again.
      if (full && directory !== undefined && hasNoRoom(directory)) throw full;
    },
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
