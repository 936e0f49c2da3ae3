/**
 * Numbered, append-only migrations. All missing ones are applied in one transaction, so that a failed one leaves the
 * database unchanged; a database of a newer program is refused.
 */
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { MigrationError, StoreNewerError } from "../../../core/errors.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { type Migration, readMigrations } from "../read-migrations.ts";

let known: readonly Migration[] | undefined;

/** The migrations this program brings, in order. */
export function migrations(): readonly Migration[] {
  known ??= readMigrations(new URL("./migrations/", import.meta.url));
  return known;
}

/** The version a database has; 0 for a fresh one. */
export function versionOf(sql: DatabaseSync): number {
  const row = sql.prepare("PRAGMA user_version").get();
  return Number(row?.user_version);
}

/** What to do with a database of a newer program. `directory`: where copies from before a migration are. */
export function newerHint(newest: number, directory: string | undefined): string {
  const copy = directory === undefined ? undefined : copyFor(directory, newest);
  return copy === undefined
    ? "Use the newer program, or restore a backup that was made before it was started (`rookery backup restore FILE --replace`). Nothing was changed."
    : `Use the newer program, or go back to the copy from before the update: \`rookery backup restore ${copy}\`. Nothing was changed.`;
}

const COPY = /^before-schema-\d+-from-(\d+)\.db$/;

/** The newest copy that a program with this schema can open. */
function copyFor(directory: string, newest: number): string | undefined {
  if (!existsSync(directory)) return undefined;
  const [found] = readdirSync(directory)
    .map((name) => ({ name, from: Number(COPY.exec(name)?.[1] ?? Number.POSITIVE_INFINITY) }))
    .filter(({ from }) => from <= newest)
    .sort((a, b) => b.from - a.from);
  return found && join(directory, found.name);
}

/**
 * Copies a database before it is migrated, so that there is a way back. Under another name until it is whole; a copy of the same
 * version that is there already stays.
 */
export function copyBeforeMigration(
  sql: DatabaseSync,
  directory: string,
  steps: readonly Migration[] = migrations(),
): void {
  const have = versionOf(sql);
  const newest = steps.at(-1)?.version ?? 0;
  if (have === 0 || have >= newest) return;
  const file = join(directory, `before-schema-${newest}-from-${have}.db`);
  if (existsSync(file)) return;
  makeDirectory(directory);
  const temporary = `${file}.tmp`;
  rmSync(temporary, { force: true });
  try {
    sql.prepare("VACUUM INTO ?").run(temporary);
    chmodSync(temporary, 0o600);
    const handle = openSync(temporary, "r");
    fsyncSync(handle);
    closeSync(handle);
    renameSync(temporary, file);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new MigrationError(`The database could not be copied before its migration: ${(cause as Error).message}`, {
      cause,
      hint: "The database is unchanged. Make room on the disk and start again.",
    });
  }
}

export function migrate(
  sql: DatabaseSync,
  steps: readonly Migration[] = migrations(),
  /** Where copies from before a migration are, for the hint. */
  directory?: string,
): void {
  const have = versionOf(sql);
  const newest = steps.at(-1)?.version ?? 0;
  if (have > newest) {
    throw new StoreNewerError(`The database has schema version ${have}; this program knows ${newest}.`, {
      hint: newerHint(newest, directory),
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
