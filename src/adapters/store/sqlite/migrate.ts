/**
 * Numbered, append-only migrations. All missing ones are applied in one transaction, so that a failed one leaves the
 * database unchanged; a database of a newer program is refused.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { MigrationError, StoreNewerError } from "../../../core/errors.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

let known: readonly Migration[] | undefined;

/** The migrations this program brings, in order. */
export function migrations(): readonly Migration[] {
  if (known) return known;
  const folder = new URL("./migrations/", import.meta.url);
  known = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      version: Number.parseInt(file, 10),
      name: file.replace(/\.sql$/, ""),
      sql: readFileSync(new URL(file, folder), "utf8"),
    }));
  return known;
}

/** The version a database has; 0 for a fresh one. */
export function versionOf(sql: DatabaseSync): number {
  const row = sql.prepare("PRAGMA user_version").get();
  return Number(row?.user_version ?? 0);
}

export function migrate(sql: DatabaseSync, steps: readonly Migration[] = migrations()): void {
  const have = versionOf(sql);
  const newest = steps.at(-1)?.version ?? 0;
  if (have > newest) {
    throw new StoreNewerError(`The database has schema version ${have}; this program knows ${newest}.`, {
      hint: "Use the newer program, or restore a backup made before it was started. Nothing was changed.",
    });
  }
  const missing = steps.filter((step) => step.version > have);
  if (missing.length === 0) return;
  sql.exec("BEGIN IMMEDIATE");
  let current = missing[0];
  try {
    for (current of missing) sql.exec(current.sql);
    sql.exec(`PRAGMA user_version = ${newest}`);
    sql.exec("COMMIT");
  } catch (cause) {
    sql.exec("ROLLBACK");
    throw new MigrationError(`Migration ${current?.name} failed: ${(cause as Error).message}`, {
      cause,
      hint: "The database is unchanged. Please report this with the message above.",
    });
  }
}
