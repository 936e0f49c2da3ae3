import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreFullError, StoreNewerError, StoreUnreadableError } from "../../../core/errors.ts";
import { openDatabase } from "../sqlite/database.ts";
import { hasAgents, inspectDatabase, rebuildNeeded, refuseUnreadable } from "./inspect.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

let home: string;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-inspect-"));
  path = join(home, "rookery.db");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A database as a kill leaves it: with a log that was not checkpointed. */
function killed(agents = 1): void {
  const live = join(home, "live.db");
  const db = openDatabase(live, { synchronous: "off" });
  const work = new Workload(db);
  for (const act of lifeOf(work)) act();
  for (let n = 0; n < agents; n++) work.agent(`more${n}x`);
  db.sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  work.agent("newest");
  for (const suffix of ["", "-wal"]) copyFileSync(live + suffix, path + suffix);
  db.close();
  for (const name of readdirSync(home)) if (name.startsWith("live")) rmSync(join(home, name));
}

const picture = () =>
  readdirSync(home).map((name) => {
    const { mtimeNs, size, ino } = statSync(join(home, name), { bigint: true });
    return [
      name,
      mtimeNs,
      size,
      ino,
      statSync(join(home, name)).isFile() && readFileSync(join(home, name)).toString("base64"),
    ];
  });

/** The page with a table's first or last rows: the outermost child of its root, which must be an inner page. */
function edgeOf(table: string, bytes: Buffer, edge: "first" | "last"): number {
  const sql = new DatabaseSync(path, { readOnly: true });
  const root = Number(sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table)?.rootpage);
  sql.close();
  const at = (root - 1) * 4096;
  expect(bytes[at]).toBe(5);
  return bytes.readUInt32BE(edge === "last" ? at + 8 : at + bytes.readUInt16BE(at + 12));
}

describe("inspecting a database", () => {
  test("finds the database of a killed process readable, and changes neither it nor its log", () => {
    killed();
    const before = picture();
    expect(before.map(([name]) => name)).toEqual(["rookery.db", "rookery.db-wal"]);
    expect(inspectDatabase(path)).toEqual({ kind: "ok" });
    expect(picture()).toEqual(before);
  });

  test("loses no row that is only in the log", () => {
    killed();
    const db = openDatabase(path);
    expect(db.sql.prepare("SELECT count(*) AS count FROM agents").get()?.count).toBe(4);
    db.close();
  });

  test("distinguishes a missing database from a log without its database", () => {
    expect(inspectDatabase(path)).toEqual({ kind: "missing" });
    writeFileSync(`${path}-wal`, "frames");
    expect(inspectDatabase(path)).toEqual({ kind: "orphaned-wal" });
    expect(() => refuseUnreadable(path)).toThrow(StoreUnreadableError);
    expect(readdirSync(home)).toEqual(["rookery.db-wal"]);
  });

  const broken: Readonly<Record<string, () => void>> = {
    "an empty file beside agents": () => {
      writeFileSync(path, "");
      mkdirSync(join(home, "agents", "a".repeat(24)), { recursive: true });
    },
    "an empty file beside a log": () => {
      killed();
      writeFileSync(path, "");
    },
    "a truncated file": () => {
      killed(200);
      truncateSync(path, 40_960);
      rmSync(`${path}-wal`);
    },
    "a file that is not a database": () => writeFileSync(path, "This is a text. ".repeat(1000)),
    "a database of another program": () => {
      const other = openDatabase(path);
      other.sql.exec("PRAGMA user_version = 0");
      other.close();
    },
    "flipped bits in a page": () => {
      killed(200);
      rmSync(`${path}-wal`);
      const bytes = readFileSync(path);
      for (let at = 5 * 4096; at < 12 * 4096; at++) bytes[at] = (bytes[at] ?? 0) ^ 0x55;
      writeFileSync(path, bytes);
    },
    "a broken header": () => {
      killed();
      const bytes = readFileSync(path);
      bytes.fill(0, 0, 100);
      writeFileSync(path, bytes);
    },
  };
  for (const [name, make] of Object.entries(broken)) {
    test(`refuses ${name}, names the repair, and changes nothing`, () => {
      make();
      const before = picture();
      expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
      expect(() => refuseUnreadable(path)).toThrow(StoreUnreadableError);
      try {
        refuseUnreadable(path);
      } catch (error) {
        expect((error as StoreUnreadableError).hint).toContain("rookery engine repair");
      }
      expect(picture()).toEqual(before);
    });
  }

  test("checks a large database in parts, and still finds a broken edge", () => {
    killed(200);
    expect(inspectDatabase(path, { wholeCheckBytes: 0 })).toEqual({ kind: "ok" });
    rmSync(`${path}-wal`);
    const whole = readFileSync(path);
    for (const edge of ["first", "last"] as const) {
      const bytes = Buffer.from(whole);
      const page = edgeOf("entries", bytes, edge);
      bytes.fill(0x55, (page - 1) * 4096, page * 4096);
      writeFileSync(path, bytes);
      expect(inspectDatabase(path, { wholeCheckBytes: 0 })).toMatchObject({ kind: "unreadable" });
    }
  });

  test("checks every page up to a size, of the database and its log together", () => {
    killed(200);
    rmSync(`${path}-wal`);
    const bytes = readFileSync(path);
    const sql = new DatabaseSync(path, { readOnly: true });
    const page = Number(sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_id'").get()?.rootpage);
    sql.close();
    bytes.fill(0xff, (page - 1) * 4096, page * 4096);
    writeFileSync(path, bytes);
    expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
    expect(inspectDatabase(path, { wholeCheckBytes: bytes.length })).toMatchObject({ kind: "unreadable" });
    expect(inspectDatabase(path, { wholeCheckBytes: bytes.length - 1 })).toEqual({ kind: "ok" });
    writeFileSync(`${path}-wal`, "");
    expect(inspectDatabase(path, { wholeCheckBytes: bytes.length })).toMatchObject({ kind: "unreadable" });
  });

  test("checks every page up to 64 megabytes, and beyond them only a part", () => {
    killed(40);
    rmSync(`${path}-wal`);
    const sql = new DatabaseSync(path, { readOnly: true });
    const page = Number(sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_id'").get()?.rootpage);
    sql.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, (page - 1) * 4096, page * 4096);
    writeFileSync(path, bytes);
    // What is behind the last page of the header is no part of the database; the file has a hole there.
    truncateSync(path, 64 << 20);
    expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
    truncateSync(path, (64 << 20) + 4096);
    expect(inspectDatabase(path)).toEqual({ kind: "ok" });
  });

  test("looks for agents in their directory: none, an empty one, and one with an agent", () => {
    expect([hasAgents(home), rebuildNeeded(home, path)]).toEqual([false, false]);
    mkdirSync(join(home, "agents"));
    expect([hasAgents(home), rebuildNeeded(home, path)]).toEqual([false, false]);
    mkdirSync(join(home, "agents", "a"));
    expect([hasAgents(home), rebuildNeeded(home, path)]).toEqual([true, true]);
    for (const suffix of ["", "-wal"]) {
      writeFileSync(path + suffix, "");
      expect(rebuildNeeded(home, path), suffix).toBe(false);
      rmSync(path + suffix);
    }
  });

  test("adds the log to the size that decides how closely it looks", () => {
    killed(40);
    const bytes = readFileSync(path);
    // A page in the middle of a table, which no look at the edges reads.
    const sql = new DatabaseSync(path, { readOnly: true });
    const root = Number(sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_id'").get()?.rootpage);
    sql.close();
    bytes.fill(0xff, (root - 1) * 4096, root * 4096);
    writeFileSync(path, bytes);
    const [size, log] = [statSync(path).size, statSync(`${path}-wal`).size];
    expect(inspectDatabase(path, { wholeCheckBytes: size + log })).toMatchObject({ kind: "unreadable" });
    expect(inspectDatabase(path, { wholeCheckBytes: size + log - 1 })).toEqual({ kind: "ok" });
    expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
    rmSync(`${path}-wal`);
    expect(inspectDatabase(path, { wholeCheckBytes: size })).toMatchObject({ kind: "unreadable" });
    expect(inspectDatabase(path, { wholeCheckBytes: size - 1 })).toEqual({ kind: "ok" });
  });

  test("finds a broken small table also in a large database", () => {
    killed();
    const sql = new DatabaseSync(path, { readOnly: true });
    const root = Number(sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'facts'").get()?.rootpage);
    sql.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, (root - 1) * 4096, root * 4096);
    writeFileSync(path, bytes);
    expect(inspectDatabase(path, { wholeCheckBytes: 0 })).toMatchObject({ kind: "unreadable" });
  });

  test("refuses a database of a newer program with a separate error", () => {
    const db = openDatabase(path);
    db.sql.exec("PRAGMA user_version = 99");
    db.close();
    expect(inspectDatabase(path)).toEqual({ kind: "newer", version: 99 });
    expect(() => refuseUnreadable(path)).toThrow(StoreNewerError);
  });

  test("treats a database without tables, left by a killed first start, as missing", () => {
    writeFileSync(path, "");
    expect(inspectDatabase(path)).toEqual({ kind: "missing" });
    const sql = new DatabaseSync(path);
    sql.exec("PRAGMA journal_mode = WAL");
    sql.close();
    expect(statSync(path).size).toBeGreaterThan(0);
    expect(inspectDatabase(path)).toEqual({ kind: "missing" });
    mkdirSync(join(home, "agents", "a".repeat(24)), { recursive: true });
    expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
  });

  test("does not take a database without tables for a new one if it has the version of a newer program", () => {
    const sql = new DatabaseSync(path);
    sql.exec("PRAGMA user_version = 99");
    sql.close();
    expect(inspectDatabase(path)).toEqual({ kind: "newer", version: 99 });
    const older = new DatabaseSync(path);
    older.exec("PRAGMA user_version = 0; CREATE TABLE other (x)");
    older.close();
    expect(inspectDatabase(path)).toMatchObject({ kind: "unreadable" });
  });

  test("says of a disk without room that nothing is damaged, and does not name the repair", () => {
    const refused = () => refuseUnreadable(path, { kind: "no-room", reason: "no space left" });
    expect(refused).toThrow(StoreFullError);
    expect(refused).toThrow("no space left");
    expect(refused).toThrow(expect.objectContaining({ hint: expect.not.stringContaining("repair") }));
  });
});
