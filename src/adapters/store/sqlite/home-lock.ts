/**
 * One writer per home (M7): a lock of the operating system that ends with the process. Node has no API for one, so an
 * empty SQLite file is held in an exclusive transaction. The pid file beside it is information for people only.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HomeLockedError, StoreFullError } from "../../../core/errors.ts";

export interface HomeLock {
  release(): void;
}

/** Locks this process holds. They are referenced here, because garbage collection would release them. */
const held = new Set<DatabaseSync>();

export function lockHome(home: string): HomeLock {
  const pidFile = join(home, "rookery.pid");
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(home, "rookery.lock"), { timeout: 0 });
    lock.exec("PRAGMA locking_mode = EXCLUSIVE");
    lock.exec("BEGIN EXCLUSIVE");
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch (cause) {
    lock?.close();
    if (!isBusy(cause)) {
      throw new StoreFullError(`The home ${home} cannot be written: ${(cause as Error).message}.`, {
        cause,
        hint: "Make room, or give this user permission to write there.",
      });
    }
    throw new HomeLockedError(`Another process${holderOf(pidFile)} uses ${home}.`, {
      cause,
      hint: "Stop it first, or give this one another home with --home.",
    });
  }
  const mine = lock;
  held.add(mine);
  return {
    release() {
      // In a home that was replaced it may be another process's.
      if (pidIn(pidFile) === String(process.pid)) rmSync(pidFile, { force: true });
      held.delete(mine);
      mine.close();
    },
  };
}

/** SQLITE_BUSY: the lock works, and another process holds it. */
const isBusy = (error: unknown): boolean => (Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff) === 5;

function holderOf(pidFile: string): string {
  const pid = pidIn(pidFile);
  return pid === undefined ? "" : ` (pid ${pid})`;
}

function pidIn(pidFile: string): string | undefined {
  try {
    return readFileSync(pidFile, "utf8").trim();
  } catch {
    return undefined;
  }
}
