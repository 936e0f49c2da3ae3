import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MigrationError, StoreClosedError, StoreNewerError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import { type Database, openDatabase } from "./database.ts";
import { freeBytes, logPagesFor } from "./disk-room.ts";
import { migrations } from "./migrate.ts";
import { openSqliteStore } from "./open-store.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-database-"));
});
afterEach(() => rmSync(home, { recursive: true }));

test("limits the log, the cache and the wait, and honours `synchronous`", () => {
  const path = join(home, "rookery.db");
  for (const [synchronous, mode] of [
    [undefined, 2],
    ["full", 2],
    ["normal", 1],
    ["off", 0],
  ] as const) {
    const db = openDatabase(path, { synchronous });
    const setting = (name: string): unknown => Object.values(db.sql.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    expect([setting("journal_mode"), setting("synchronous")], String(synchronous)).toEqual(["wal", mode]);
    expect([setting("journal_size_limit"), setting("cache_size"), setting("temp_store")]).toEqual([
      64 << 20,
      -4_000,
      2,
    ]);
    expect([setting("busy_timeout"), setting("wal_autocheckpoint")]).toEqual([5_000, logPagesFor(freeBytes(home))]);
    db.close();
    expect(() => db.get("SELECT 1")).toThrow(StoreClosedError);
  }
});

test("a database that is only read can change nothing", () => {
  const path = join(home, "rookery.db");
  openDatabase(path).close();
  const db = openDatabase(path, { readOnly: true });
  expect(db.all("SELECT key FROM facts")).toEqual([]);
  expect(() => db.run("INSERT INTO facts (key, value) VALUES ('k', 'v')")).toThrow("readonly");
  db.close();
});

test.each([
  [undefined, true],
  ["full", true],
  ["normal", false],
  ["off", false],
] as const)("a store opened with %s needs the log to flush each commit: %s", async (synchronous, needed) => {
  const afterOpen = (): void => rmSync(join(home, "rookery.db-wal"));
  const open = () => openSqliteStore({ home, synchronous, afterOpen });
  if (needed) expect(open).toThrow("ENOENT");
  else await open().close();
});

test("removes deleted bytes from every file when compacting, and keeps the rest", async () => {
  const store = openSqliteStore({ home });
  const put = (n: number, value: string) =>
    store.commit({ id: `c${n}` as ChangeId, site: "test", at: n, ops: [{ op: "fact.put", key: "k", value }] });
  const secret = "a secret that somebody wants forgotten";
  await put(1, secret.repeat(500));
  await put(2, "kept");
  const found = (): string[] => readdirSync(home).filter((name) => readFileSync(join(home, name)).includes(secret));
  expect(found()).not.toEqual([]);
  await store.eraser?.compact();
  expect(found()).toEqual([]);
  expect(await store.fact("k")).toBe("kept");
  await put(3, "goes on");
  expect(await store.fact("k")).toBe("goes on");
  await store.close();
});

test("opens each database in memory empty, with the schema and settings of the first", () => {
  const facts = "SELECT count(*) AS n FROM facts";
  const settings = ["user_version", "cache_size", "temp_store", "synchronous"].map((name) => `PRAGMA ${name}`);
  const read = (db: Database): unknown => [
    db.all("SELECT * FROM sqlite_schema ORDER BY name"),
    settings.map((setting) => db.get(setting)),
    db.get(facts),
  ];
  const first = openDatabase(":memory:");
  first.run("INSERT INTO facts (key, value) VALUES ('k', 'v')");
  const [second, third] = [openDatabase(":memory:"), openDatabase(":memory:")];
  second.run("INSERT INTO facts (key, value) VALUES ('k', 'v')");
  expect(third.get(facts)).toEqual({ n: 0 });
  expect(first.get(facts)).toEqual({ n: 1 });
  third.run("INSERT INTO facts (key, value) VALUES ('k', 'v')");
  expect(read(third)).toEqual(read(first));
  for (const db of [first, second, third]) db.close();
});

test("compiles a statement once, even if its limit changes", () => {
  const db = openDatabase(":memory:");
  let compiled = 0;
  db.sql.setAuthorizer((action) => {
    if (action === constants.SQLITE_SELECT) compiled += 1;
    return constants.SQLITE_OK;
  });
  const text = "SELECT value FROM json_each(?) WHERE value > ? ORDER BY value LIMIT ?";
  const read = (least: number, limit: number): unknown[] => db.all(text, "[1,2,3]", least, limit);
  expect(read(0, 2)).toEqual([{ value: 1 }, { value: 2 }]);
  expect(read(1, 1)).toEqual([{ value: 2 }]);
  expect(read(0, 3)).toHaveLength(3);
  expect(read(0, 0)).toEqual([]);
  expect(compiled).toBe(1);
  db.close();
});

test("a database belongs to its owner only, and one that is only read keeps its rights", () => {
  const path = join(home, "rookery.db");
  const mode = (): number => statSync(path).mode & 0o777;
  openDatabase(path).close();
  expect(mode()).toBe(0o600);
  chmodSync(path, 0o640);
  openDatabase(path, { readOnly: true }).close();
  expect(mode()).toBe(0o640);
  openDatabase(path).close();
  expect(mode()).toBe(0o600);
});

test("a database that cannot be used is closed again", () => {
  const path = join(home, "rookery.db");
  const db = openDatabase(path);
  db.sql.exec("PRAGMA user_version = 99");
  db.close();
  expect(() => openDatabase(path)).toThrow(StoreNewerError);
  // The last connection takes the log with it.
  expect(readdirSync(home)).toEqual(["rookery.db"]);
});

test("a database of an older program is copied before it is changed", () => {
  const path = join(home, "rookery.db");
  const newest = migrations().length;
  const db = openDatabase(path);
  db.sql.exec(`PRAGMA user_version = ${newest - 1}`);
  db.close();
  // The last migration finds what it would make.
  expect(() => openDatabase(path)).toThrow(MigrationError);
  expect(readdirSync(join(home, "backups"))).toEqual([`before-schema-${newest}-from-${newest - 1}.db`]);
});
