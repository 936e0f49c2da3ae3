import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { replaceDatabase } from "../../../app/operations/backup/replace-database.ts";
import { homePaths } from "../../../config/paths.ts";
import { MigrationError, StoreNewerError } from "../../../core/errors.ts";
import type { Migration } from "../read-migrations.ts";
import { openDatabase } from "./database.ts";
import { readFact, writeFact } from "./facts.ts";
import { copyBeforeMigration, migrate, migrations, newerHint, versionOf } from "./migrate.ts";

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-migrate-"));
  path = join(home, "rookery.db");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const hash = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

/** Everything a database holds: its schema and every row. */
function contentOf(sql: DatabaseSync): unknown {
  const tables = sql.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
  const rows = tables
    .filter((table) => table.type === "table")
    .map((table) => sql.prepare(`SELECT * FROM ${String(table.name)}`).all());
  return { tables, rows, version: versionOf(sql) };
}

/** A closed database of the current schema with a row in it. */
function makeDatabase(): void {
  const db = openDatabase(path);
  writeFact(db, "answer", "42");
  db.close();
}

const NEXT = migrations().length + 1;
const withNext = (sql: string): Migration[] => [...migrations(), { version: NEXT, name: "the-next", sql }];

describe("migrations", () => {
  test("are numbered from one without a gap", () => {
    expect(migrations().map((one) => one.version)).toEqual(migrations().map((_, index) => index + 1));
  });

  test("bring a fresh database to the newest version, once", () => {
    const db = openDatabase(path);
    expect(versionOf(db.sql)).toBe(migrations().at(-1)?.version);
    db.close();
    const again = openDatabase(path);
    expect(versionOf(again.sql)).toBe(migrations().at(-1)?.version);
    again.close();
  });

  test("apply only the missing ones and keep the rows", () => {
    makeDatabase();
    const sql = new DatabaseSync(path);
    migrate(sql, withNext("CREATE TABLE extra (x TEXT); INSERT INTO extra SELECT value FROM facts;"));
    expect(sql.prepare("SELECT x FROM extra").get()).toMatchObject({ x: "42" });
    expect(versionOf(sql)).toBe(NEXT);
    sql.close();
  });

  test("leave the database unchanged, byte for byte, if one fails half-way", () => {
    makeDatabase();
    const before = hash(path);
    const sql = new DatabaseSync(path);
    const content = contentOf(sql);
    const failing = "CREATE TABLE extra (x TEXT); DELETE FROM facts; INSERT INTO nowhere VALUES (1);";
    expect(() => migrate(sql, withNext(failing))).toThrow(MigrationError);
    expect(() => migrate(sql, withNext(failing))).toThrow(/the-next failed: no such table/);
    expect(contentOf(sql)).toEqual(content);
    sql.close();
    expect(hash(path)).toBe(before);
    const good = openDatabase(path);
    expect(readFact(good, "answer")).toBe("42");
    good.close();
  });

  test("are all undone if the last of several fails", () => {
    const sql = new DatabaseSync(path);
    expect(() => migrate(sql, withNext("BAD SQL"))).toThrow(MigrationError);
    expect(contentOf(sql)).toEqual({ tables: [], rows: [], version: 0 });
    sql.close();
  });

  test("copy the database before they change it, and an older program names the command that goes back", () => {
    makeDatabase();
    const copies = join(home, "backups");
    const sql = new DatabaseSync(path);
    const steps = withNext("CREATE TABLE extra (x TEXT); DELETE FROM facts;");
    copyBeforeMigration(sql, copies, steps);
    migrate(sql, steps);
    sql.close();
    const copy = join(copies, `before-schema-${NEXT}-from-${NEXT - 1}.db`);
    expect(readdirSync(copies)).toEqual([basename(copy)]);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(() => openDatabase(path)).toThrow(
      expect.objectContaining({ code: "store_newer", hint: expect.stringContaining(`rookery backup restore ${copy}`) }),
    );
    const { kept, schema } = replaceDatabase({ paths: homePaths(home), file: copy, now: 1 });
    expect(schema).toBe(NEXT - 1);
    const back = openDatabase(path);
    expect(readFact(back, "answer")).toBe("42");
    back.close();
    const newer = new DatabaseSync(kept ?? "");
    expect(versionOf(newer)).toBe(NEXT);
    newer.close();
  });

  test("copy nothing of a fresh or a current database, and do not begin if the copy cannot be made", () => {
    makeDatabase();
    openDatabase(path).close();
    expect(existsSync(join(home, "backups"))).toBe(false);
    writeFileSync(join(home, "backups"), "in the way");
    const sql = new DatabaseSync(path);
    expect(() => copyBeforeMigration(sql, join(home, "backups"), withNext("SELECT 1"))).toThrow();
    expect(versionOf(sql)).toBe(NEXT - 1);
    sql.close();
  });

  test("go back to the newest copy that this program can open, and to a backup if there is none", () => {
    const backup = "restore a backup";
    expect(newerHint(9, undefined)).toContain(backup);
    expect(newerHint(9, join(home, "none"))).toContain(backup);
    const add = (...names: readonly string[]): void => {
      for (const name of names) writeFileSync(join(home, name), "");
    };
    add("notes.txt", "before-schema-12-from-10.db", "before-schema-12-from-3.db.tmp", "my-before-schema-4-from-3.db");
    expect(newerHint(9, home)).toContain(backup);
    add(
      "before-schema-5-from-2.db",
      "before-schema-12-from-9.db",
      "before-schema-9-from-8.db",
      "before-schema-7-from-4.db",
    );
    expect(newerHint(9, home)).toContain(`rookery backup restore ${join(home, "before-schema-12-from-9.db")}\``);
    expect(newerHint(8, home)).toContain("before-schema-9-from-8.db");
    expect(newerHint(3, home)).toContain("before-schema-5-from-2.db");
    expect(newerHint(1, home)).toContain(backup);
  });

  test("copy for their owner only, into a directory that is made for it, and keep a copy that is there", () => {
    makeDatabase();
    const sql = new DatabaseSync(path);
    const copies = join(home, "deep", "backups");
    const steps = withNext("SELECT 1");
    const copy = join(copies, `before-schema-${NEXT}-from-${NEXT - 1}.db`);
    copyBeforeMigration(sql, copies, steps);
    expect([statSync(copies).mode & 0o777, statSync(copy).mode & 0o777]).toEqual([0o700, 0o600]);
    writeFileSync(copy, "the first copy");
    copyBeforeMigration(sql, copies, steps);
    expect(readFileSync(copy, "utf8")).toBe("the first copy");
    expect(readdirSync(copies)).toEqual([basename(copy)]);
    // One that was begun by a process that died is made again.
    rmSync(copy);
    writeFileSync(`${copy}.tmp`, "half a copy");
    copyBeforeMigration(sql, copies, steps);
    expect(readdirSync(copies)).toEqual([basename(copy)]);
    sql.close();
    const again = openDatabase(copy);
    expect(readFact(again, "answer")).toBe("42");
    again.close();
  });

  test("are read once, in the order of their numbers, each with its name and text", () => {
    expect(migrations()).toBe(migrations());
    for (const { name, version, sql } of migrations()) {
      expect(name).toMatch(/^\d{3}-[a-z-]+$/u);
      expect(Number(name.slice(0, 3))).toBe(version);
      expect(sql).toMatch(/CREATE|ALTER/u);
    }
  });

  test("refuse a database of a newer program and leave it unchanged", () => {
    makeDatabase();
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    const copy = join(home, "copy.db");
    copyFileSync(path, copy);
    expect(() => openDatabase(path)).toThrow(StoreNewerError);
    expect(() => openDatabase(path)).toThrow(/schema version 99/);
    expect(hash(path)).toBe(hash(copy));
  });

  test("and the version they bring are stored together or not at all", () => {
    class Failing extends DatabaseSync {
      override exec(text: string): void {
        if (text.startsWith("PRAGMA user_version =")) throw new Error("no more room");
        super.exec(text);
      }
    }
    const sql = new Failing(path);
    expect(() => migrate(sql)).toThrow(/no more room/);
    expect(contentOf(sql)).toEqual({ tables: [], rows: [], version: 0 });
    sql.close();
  });

  test("leave no file open after a copy", () => {
    makeDatabase();
    const sql = new DatabaseSync(path);
    const open = (): number => readdirSync("/dev/fd").length;
    const copy = (name: string): void => copyBeforeMigration(sql, join(home, name), withNext("SELECT 1"));
    // The first use opens the database itself.
    copy("first");
    const before = open();
    copy("second");
    expect(open()).toBe(before);
    sql.close();
  });
});
