import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { migrations as postgres } from "./postgres/migrate.ts";
import { readMigrations } from "./read-migrations.ts";
import { migrations as sqlite } from "./sqlite/migrate.ts";

test("migrations are read in the order of their numbers, and nothing else is", () => {
  const folder = mkdtempSync(join(tmpdir(), "rookery-migrations-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["10-later.sql", "9-first.sql", "1-notes.md", "11-copy.sql.orig", "sql"]) {
    writeFileSync(join(folder, name), `-- ${name}`);
  }
  expect(readMigrations(pathToFileURL(`${folder}/`))).toEqual([
    { version: 9, name: "9-first", sql: "-- 9-first.sql" },
    { version: 10, name: "10-later", sql: "-- 10-later.sql" },
  ]);
});

test.each([
  ["SQLite", sqlite()],
  ["PostgreSQL", postgres()],
])("those of %s are numbered from one without a gap", (_, migrations) => {
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_one, index) => index + 1));
});
