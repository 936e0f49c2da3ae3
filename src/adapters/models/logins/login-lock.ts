/**
 * One process at a time changes the logins of a home: a lock of the operating system, which ends with the process. As for the
 * lock of a home, an empty SQLite file is held in an exclusive transaction.
 */
import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { FILE_MODE } from "../../../config/paths.ts";
import { ConflictError } from "../../../core/errors.ts";
import { type Clock, sleep } from "../../../core/ports/clock.ts";
import { openDatabaseSync } from "../../store/sqlite/database-sync.ts";
import { makeDirectory } from "../../system/make-directory.ts";

const RETRY_MS = 25;
/** Longer than a refresh may take. */
const WAIT_MS = 40_000;

/** Held locks: garbage collection would release them. */
const held = new Set<DatabaseSync>();

/** `path`: of the logins. Resolves with the function that releases the lock. Rejects with a `ConflictError` if another process keeps it too long. */
export async function lockLogins(path: string, clock: Clock): Promise<() => void> {
  const file = `${path}.lock`;
  makeDirectory(dirname(file));
  // SQLite makes files that others may read.
  closeSync(openSync(file, "a", FILE_MODE));
  const from = clock.monotonic();
  for (;;) {
    const lock = tryLock(file);
    if (lock) {
      held.add(lock);
      return () => {
        held.delete(lock);
        lock.close();
      };
    }
    if (clock.monotonic() - from > WAIT_MS) {
      throw new ConflictError("Another process has been changing the logins for too long.", {
        hint: "Try again. If it stays so, end the other `rookery` processes of this home.",
      });
    }
    await sleep(clock, RETRY_MS);
  }
}

function tryLock(file: string): DatabaseSync | undefined {
  const lock = openDatabaseSync(file, { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE");
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    // SQLITE_BUSY: another process holds it.
    if ((Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff) === 5) return undefined;
    throw error;
  }
}
