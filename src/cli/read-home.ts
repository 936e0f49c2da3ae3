/** Looks into a home's store without disturbing whoever works there: a read-only connection, no lock. */
import { existsSync } from "node:fs";
import type { HomePaths } from "../config/paths.ts";
import { NotFoundError } from "../core/errors.ts";
import type { StoreReader } from "../core/store.ts";
import { openDatabase } from "../store/sqlite/database.ts";
import { readerOf } from "../store/sqlite/reader.ts";

export async function readHome<T>(paths: HomePaths, read: (store: StoreReader) => Promise<T>): Promise<T> {
  if (!existsSync(paths.database)) {
    throw new NotFoundError(`There is no database in ${paths.home}.`, {
      hint: "Nothing was said here yet; try `echo hi | rookery`.",
    });
  }
  const db = openDatabase(paths.database, { readOnly: true });
  try {
    return await read(readerOf(db));
  } finally {
    db.close();
  }
}
