/**
 * Gives back what a store keeps for more work, some time after the last commit: the pages that SQLite holds in memory, and the room of
 * the log, whose pages move into the database.
 */
import { backgroundTimeout } from "../../system/background-timers.ts";
import { BUSY_MS, type Database } from "./database.ts";

const REST_AFTER_MS = 10_000;

interface GivesBack {
  /** Call it after each commit. Cheap. */
  committed(): void;
  stop(): void;
}

export function giveBackAtRest(db: Database, afterMs = REST_AFTER_MS): GivesBack {
  let timer: NodeJS.Timeout | undefined;
  let last = 0;
  const look = (): void => {
    const left = last + afterMs - performance.now();
    timer = left > 0 ? backgroundTimeout(look, left) : undefined;
    if (left <= 0) giveBack(db);
  };
  return {
    committed() {
      last = performance.now();
      timer ??= backgroundTimeout(look, afterMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Whatever prevents it, the next commit reports it. A reader at work keeps the log as it is: nothing waits for it. */
function giveBack({ sql }: Database): void {
  try {
    sql.exec("PRAGMA busy_timeout = 0");
    sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    sql.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA shrink_memory`);
  } catch {
    if (sql.isOpen) sql.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  }
}
