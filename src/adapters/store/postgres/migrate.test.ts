import type pg from "pg";
import { expect, test } from "vitest";
import { MigrationError, StoreNewerError } from "../../../core/errors.ts";
import type { Migration } from "../read-migrations.ts";
import { applyFunctions } from "./apply-functions.ts";
import { migrate, migrations } from "./migrate.ts";

const STEPS: readonly Migration[] = [
  { version: 1, name: "001-first", sql: "FIRST STEP" },
  { version: 2, name: "002-second", sql: "SECOND STEP" },
  { version: 3, name: "003-third", sql: "THIRD STEP" },
];

/** A database that knows its version and its functions, and takes one statement at a time. */
class FakeDatabase {
  readonly sent: string[] = [];
  readonly values: unknown[][] = [];
  version: string | undefined;
  hasFunctions = false;
  fails: string | undefined;
  isBusy = false;

  asClient(): pg.ClientBase {
    return { query: (text: string, values: unknown[] = []) => this.#query(text, values) } as unknown as pg.ClientBase;
  }

  async #query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> {
    if (this.isBusy) throw new Error(`Sent before the answer to the statement before: ${text}`);
    this.isBusy = true;
    this.sent.push(text);
    this.values.push(values);
    await new Promise(setImmediate);
    this.isBusy = false;
    if (this.fails !== undefined && text.startsWith(this.fails)) throw new Error("no permission");
    if (text.startsWith("SELECT value FROM meta"))
      return { rows: this.version === undefined ? [] : [{ value: this.version }] };
    if (text.startsWith("SELECT 1 FROM pg_proc")) return { rows: this.hasFunctions ? [{}] : [] };
    return { rows: [] };
  }
}

const steps = ({ sent }: FakeDatabase): string[] => sent.filter((text) => text.endsWith("STEP"));

test("an empty database gets every step in order, its version and the functions, in one transaction under a lock", async () => {
  const database = new FakeDatabase();
  await migrate(database.asClient(), 'my "schema"', STEPS);
  const [begin, lock, schema, path, meta] = database.sent;
  expect(begin).toBe("BEGIN");
  expect(lock).toContain("pg_advisory_xact_lock");
  expect(database.values[1]).toEqual(['rookery.migrate.my "schema"']);
  expect(schema).toBe('CREATE SCHEMA IF NOT EXISTS "my ""schema"""');
  expect(path).toBe('SET LOCAL search_path TO "my ""schema"""');
  expect(meta).toContain("CREATE TABLE IF NOT EXISTS meta");
  expect(steps(database)).toEqual(["FIRST STEP", "SECOND STEP", "THIRD STEP"]);
  const written = database.sent.findIndex((text) => text.startsWith("INSERT INTO meta"));
  expect(database.values[written]).toEqual(["3"]);
  const { statements } = applyFunctions();
  expect(database.sent.slice(-statements.length - 1)).toEqual([...statements, "COMMIT"]);
});

test("only the steps that are missing are applied, and functions that are there stay", async () => {
  const database = new FakeDatabase();
  database.version = "1";
  database.hasFunctions = true;
  await migrate(database.asClient(), "s", STEPS);
  expect(steps(database)).toEqual(["SECOND STEP", "THIRD STEP"]);
  expect(database.sent.some((text) => text.includes("CREATE OR REPLACE"))).toBe(false);
  expect(database.sent.at(-1)).toBe("COMMIT");
});

test("a database of this version is left as it is", async () => {
  const database = new FakeDatabase();
  database.version = "3";
  await migrate(database.asClient(), "s", STEPS);
  expect(steps(database)).toEqual([]);
  expect(database.sent.some((text) => text.startsWith("INSERT INTO meta"))).toBe(false);
  await migrate(database.asClient(), "s");
});

test("a database of a newer program is refused, and nothing is changed", async () => {
  const database = new FakeDatabase();
  database.version = "4";
  await expect(migrate(database.asClient(), "s", STEPS)).rejects.toThrow(StoreNewerError);
  expect(steps(database)).toEqual([]);
  expect(database.sent.at(-1)).toBe("ROLLBACK");
});

test.each([
  ["SECOND STEP", "Migration 002-second failed: no permission"],
  ["CREATE SCHEMA", "Migration of the database failed: no permission"],
  ["CREATE OR REPLACE", "Migration of the functions that apply changes failed: no permission"],
])("if %s fails, everything is rolled back and the error names it", async (text, message) => {
  const database = new FakeDatabase();
  // The functions begin with comments.
  database.fails = text === "CREATE OR REPLACE" ? applyFunctions().statements[0] : text;
  const failed = await migrate(database.asClient(), "s", STEPS).catch((error: unknown) => ({
    error,
    wasBusy: database.isBusy,
  }));
  expect(failed).toMatchObject({ error: expect.any(MigrationError), wasBusy: false });
  expect(failed).toMatchObject({ error: { message: expect.stringContaining(message) } });
  expect(database.sent.at(-1)).toBe("ROLLBACK");
  expect(database.sent).not.toContain("COMMIT");
});

test("the program's own steps are numbered without a gap and have text", () => {
  const own = migrations();
  expect(own.map(({ version }) => version)).toEqual(own.map((_, index) => index + 1));
  for (const { name, sql, version } of own) {
    expect(name).toMatch(new RegExp(`^0*${version}-[a-z-]+$`));
    expect(sql.trim()).not.toBe("");
  }
});

test("every function has the same digest in its name, and calls the others by theirs", () => {
  const { applyChanges, applyBatch, retireDead, statements } = applyFunctions();
  const digest = applyChanges.slice("apply_changes_".length);
  expect(digest).toMatch(/^[0-9a-f]{10}$/);
  expect([applyBatch, retireDead]).toEqual([`apply_batch_${digest}`, `retire_dead_${digest}`]);
  expect(statements.join("\n")).not.toContain("{{");
  const made = statements.map((text) => /CREATE OR REPLACE FUNCTION (\w+)\(/.exec(text)?.[1] ?? "");
  expect(made.every((name) => name.endsWith(digest))).toBe(true);
  // A function is made after those that it calls.
  for (const [index, text] of statements.entries())
    for (const later of made.slice(index + 1)) expect(text).not.toContain(`${later}(`);
  expect(applyFunctions()).toBe(applyFunctions());
});
