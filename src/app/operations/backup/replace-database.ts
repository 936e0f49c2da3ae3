/**
 * Puts a copy of the database in the place of the home's: for the way back after an update. The rest of the home stays; the next
 * start sees that the database is older than the plain files and ends its open work (M6). A kill leaves one of the two in place.
 */
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { openDatabaseSync } from "../../../adapters/store/sqlite/database-sync.ts";
import { lockHome } from "../../../adapters/store/sqlite/home-lock.ts";
import type { HomePaths } from "../../../config/paths.ts";
import { inspectSnapshot } from "./snapshot-store.ts";

interface Replaced {
  readonly schema: number;
  /** Where the database that was there is now; null if there was none. */
  readonly kept: string | null;
}

interface ReplaceOptions {
  readonly paths: HomePaths;
  readonly file: string;
  readonly now: number;
}

/** Throws `HomeLockedError` while an engine runs, and `StoreUnreadableError` if the copy is not sound. */
export function replaceDatabase({ paths, file, now }: ReplaceOptions): Replaced {
  const { schema } = inspectSnapshot(file);
  const lock = lockHome(paths.home);
  try {
    const { database } = paths;
    const incoming = `${database}.restoring`;
    rmSync(incoming, { force: true });
    copyFileSync(file, incoming);
    let kept: string | null = null;
    if (existsSync(database)) {
      // Its log moves into it: a log beside another database would destroy that one.
      const sql = openDatabaseSync(database, { timeout: 5_000 });
      sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      sql.close();
      kept = `${database}.before-restore-${now}`;
      linkSync(database, kept);
    }
    for (const suffix of ["-wal", "-shm"]) rmSync(database + suffix, { force: true });
    renameSync(incoming, database);
    return { schema, kept };
  } finally {
    lock.release();
  }
}
