/**
 * Opens a snapshot of a database for reading: neither the database nor its log nor its index is written. SQLite writes an
 * index beside a database even to read it, so the files are linked into a separate directory and opened there.
 */
import { copyFileSync, existsSync, linkSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabaseSync } from "../sqlite/database-sync.ts";

interface Snapshot {
  readonly sql: DatabaseSync;
  close(): void;
}

/** Throws SQLite's error if the file is not a database. */
export function openSnapshot(path: string): Snapshot {
  const dir = stage(path);
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  try {
    const sql = openDatabaseSync(join(dir, basename(path)), { readOnly: true });
    return {
      sql,
      close() {
        sql.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Hard links beside the original; copies in the temporary directory if the disk allows no links or no writes. */
function stage(path: string): string {
  const parts = ["", "-wal"].filter((suffix) => existsSync(path + suffix));
  try {
    return filled(dirname(path), (dir) => {
      for (const suffix of parts) linkSync(path + suffix, join(dir, basename(path) + suffix));
    });
  } catch {
    return filled(tmpdir(), (dir) => {
      for (const suffix of parts) copyFileSync(path + suffix, join(dir, basename(path) + suffix));
    });
  }
}

function filled(parent: string, fill: (dir: string) => void): string {
  const dir = mkdtempSync(join(parent, ".rookery-look-"));
  try {
    fill(dir);
    return dir;
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}
