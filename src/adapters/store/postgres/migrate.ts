/**
 * Numbered, append-only migrations, applied by one node at a time under an advisory lock and in one transaction: a failed
 * one leaves the database unchanged, and a schema of a newer program is refused.
 */
import type pg from "pg";
import { MigrationError, StoreNewerError } from "../../../core/errors.ts";
import { type Migration, readMigrations } from "../read-migrations.ts";
import { applyFunctions } from "./apply-functions.ts";

/** The migrations this program brings, in order. */
export const migrations = (): readonly Migration[] => readMigrations(new URL("./migrations/", import.meta.url));

export async function migrate(
  client: pg.ClientBase,
  schema: string,
  steps: readonly Migration[] = migrations(),
): Promise<void> {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  const newest = steps.at(-1)?.version ?? 0;
  let current = "";
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 3))", [`rookery.migrate.${schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted}`);
    await client.query(`SET LOCAL search_path TO ${quoted}`);
    await client.query("CREATE TABLE IF NOT EXISTS meta (key text PRIMARY KEY, value text NOT NULL)");
    const { rows } = await client.query("SELECT value FROM meta WHERE key = 'schema_version'");
    const have = Number(rows[0]?.value ?? 0);
    if (have > newest) {
      throw new StoreNewerError(`The database has schema version ${have}; this program knows ${newest}.`, {
        hint: "Use the newer program, or another database. Nothing was changed.",
      });
    }
    for (const step of steps.filter(({ version }) => version > have)) {
      current = step.name;
      await client.query(step.sql);
    }
    if (have < newest) {
      await client.query(
        "INSERT INTO meta (key, value) VALUES ('schema_version', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [String(newest)],
      );
    }
    current = "of the functions that apply changes";
    await installFunctions(client);
    await client.query("COMMIT");
  } catch (cause) {
    await client.query("ROLLBACK").catch(() => undefined);
    if (cause instanceof StoreNewerError) throw cause;
    throw new MigrationError(`Migration ${current || "of the database"} failed: ${(cause as Error).message}`, {
      cause,
      hint: "The database is unchanged. Check that this user may create a schema, tables and functions in it.",
    });
  }
}

async function installFunctions(client: pg.ClientBase): Promise<void> {
  const { applyChanges, statements } = applyFunctions();
  const { rows } = await client.query(
    "SELECT 1 FROM pg_proc WHERE proname = $1 AND pronamespace = current_schema()::regnamespace",
    [applyChanges],
  );
  if (rows.length > 0) return;
  for (const statement of statements) await client.query(statement);
}
