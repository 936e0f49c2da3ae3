/** A snapshot of a database for reading: it has what is in the log too, and leaves nothing behind. */
import { hash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "../sqlite/database.ts";
import { openSnapshot } from "./snapshot.ts";
import { Workload } from "./workload.test-kit.ts";

let home = "";
let path = "";
/** A database as a killed process leaves it: only the log has the agent. */
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-snapshot-"));
  path = join(home, "rookery.db");
  const at = join(home, "living");
  mkdirSync(at);
  const db = openDatabase(join(at, "rookery.db"), { synchronous: "off" });
  db.sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  new Workload(db).agent("ann");
  for (const suffix of ["", "-wal", "-shm"]) copyFileSync(join(at, `rookery.db${suffix}`), path + suffix);
  db.close();
  rmSync(at, { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
const bytes = (): readonly string[] => ["", "-wal", "-shm"].map((suffix) => hash("sha1", readFileSync(path + suffix)));

describe("a snapshot", () => {
  test("has what only the log has, can only be read, and changes neither file", () => {
    const [names, before] = [readdirSync(home), bytes()];
    const { sql, close } = openSnapshot(path);
    expect(sql.prepare("SELECT count(*) AS count FROM agents").get()).toMatchObject({ count: 1 });
    expect(() => sql.exec("DELETE FROM agents")).toThrow("readonly");
    close();
    expect([readdirSync(home), bytes()]).toEqual([names, before]);
  });

  test("is closed with its connection, and its directory goes", () => {
    const { sql, close } = openSnapshot(path);
    expect(readdirSync(home).filter((name) => name.startsWith(".rookery-look-"))).toHaveLength(1);
    close();
    expect(sql.isOpen).toBe(false);
    expect(readdirSync(home).filter((name) => name.startsWith(".rookery-"))).toEqual([]);
  });

  test("of a database without a log is taken too", () => {
    openDatabase(path).close();
    expect(readdirSync(home)).toEqual(["rookery.db"]);
    const { sql, close } = openSnapshot(path);
    expect(sql.prepare("SELECT count(*) AS count FROM agents").get()).toMatchObject({ count: 1 });
    close();
  });

  test("of what cannot be opened is an error, and nothing stays behind", () => {
    const dir = join(home, "dir");
    mkdirSync(dir);
    mkdirSync(join(dir, "rookery.db"));
    const kept = readdirSync(tmpdir()).filter((name) => name.startsWith(".rookery-look-"));
    expect(() => openSnapshot(join(dir, "rookery.db"))).toThrow();
    expect(readdirSync(dir)).toEqual(["rookery.db"]);
    expect(() => openSnapshot(join(home, "none.db"))).toThrow();
    expect(readdirSync(home).filter((name) => name.startsWith(".rookery-"))).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith(".rookery-look-"))).toEqual(kept);
  });

  test("of a file that is no database says so when it is read", () => {
    const strange = join(home, "strange.db");
    writeFileSync(strange, "this is text and no database at all".repeat(100));
    const { sql, close } = openSnapshot(strange);
    expect(() => sql.prepare("SELECT 1 FROM agents").get()).toThrow("not a database");
    close();
  });
});
