/**
 * One engine per home (M7, M29): a lock of the operating system that ends with the process. Node has no API for one, so an
 * empty SQLite file is held in an exclusive transaction. The pid file beside it is information for people only.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { HomeLockedError, StoreFullError } from "../../../core/errors.ts";
import { useHome } from "../../system/make-directory.ts";
import { openDatabaseSync } from "./database-sync.ts";
import { isOutOfRoom } from "./disk-room.ts";

interface HomeLock {
  release(): void;
}

const LOCK_FILE = "rookery.lock";
/** `isHomeLocked` of another process holds the file for less than this. */
const PROBE_MS = 100;

/** Locks this process holds. They are referenced here, because garbage collection would release them. */
const held = new Set<DatabaseSync>();

/** `make`: the home may not be there yet. */
export function lockHome(home: string, { make = false } = {}): HomeLock {
  const pidFile = join(home, "rookery.pid");
  let lock: DatabaseSync | undefined;
  try {
    if (make) mkdirSync(home, { recursive: true, mode: 0o700 });
    // SQLite makes files that others may read.
    closeSync(openSync(join(home, LOCK_FILE), "a", 0o600));
    chmodSync(join(home, LOCK_FILE), 0o600);
    lock = openDatabaseSync(join(home, LOCK_FILE), { timeout: PROBE_MS });
    lock.exec("PRAGMA locking_mode = EXCLUSIVE");
    lock.exec("BEGIN EXCLUSIVE");
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch (cause) {
    lock?.close();
    if (isOutOfRoom(cause, home)) {
      throw new StoreFullError(`The disk of the home ${home} is full: ${(cause as Error).message}.`, {
        cause,
        hint: "Make room and start again. Nothing is damaged.",
      });
    }
    if (!isBusy(cause)) {
      throw new StoreFullError(`The home ${home} cannot be written: ${(cause as Error).message}.`, {
        cause,
        hint: "Make room, or give this user permission to write there.",
      });
    }
    throw new HomeLockedError(`Another process${holderOf(pidFile)} uses ${home}.`, {
      cause,
      hint: "Wait until it has ended, or give this one another home with --home.",
    });
  }
  const mine = lock;
  held.add(mine);
  const leave = useHome(home);
  return {
    release() {
      // In a home that was replaced it may be another process's.
      if (pidIn(pidFile) === String(process.pid)) rmSync(pidFile, { force: true });
      held.delete(mine);
      mine.close();
      leave();
    },
  };
}

/** Whether a process holds the lock now. It is not taken: a process that starts at this moment gets it. */
export function isHomeLocked(home: string): boolean {
  const file = join(home, LOCK_FILE);
  if (!existsSync(file)) return false;
  let probe: DatabaseSync | undefined;
  try {
    probe = openDatabaseSync(file, { readOnly: true, timeout: 0 });
    probe.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    probe?.close();
  }
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
