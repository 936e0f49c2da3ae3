/**
 * One writer per home (M7): a lock of the operating system that dies with the process. Node offers none of its own, so
 * an empty SQLite file is held in an exclusive transaction. The pid beside it is information for people only.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { HomeLockedError } from "../../core/errors.ts";

export interface HomeLock {
  release(): void;
}

export function lockHome(home: string): HomeLock {
  const pidFile = join(home, "rookery.pid");
  const lock = new DatabaseSync(join(home, "rookery.lock"), { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE");
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    const first = holderOf(pidFile);
    throw new HomeLockedError(`Another process${first} uses ${home}.`, {
      cause,
      hint: "Stop it first, or give this one another home with --home.",
    });
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    release() {
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}

function holderOf(pidFile: string): string {
  try {
    return ` (pid ${readFileSync(pidFile, "utf8").trim()})`;
  } catch {
    return "";
  }
}
