import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countStatements, newCounters, readCounters, type StatementCounts } from "./statement-counter.ts";

describe("countStatements", () => {
  const counters = newCounters();
  let restore: () => void;
  let before: StatementCounts;
  let db: DatabaseSync;

  /** The counts since the last call. */
  const counted = (): StatementCounts => {
    const now = readCounters(counters);
    const since = (name: keyof StatementCounts): number => now[name] - before[name];
    const result = {
      statements: since("statements"),
      rows: since("rows"),
      commits: since("commits"),
      readerStatements: since("readerStatements"),
    };
    before = now;
    return result;
  };

  beforeEach(() => {
    restore = countStatements(counters);
    before = readCounters(counters);
    db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE t (n INTEGER); CREATE TABLE log (n INTEGER); INSERT INTO t VALUES (0)");
  });
  afterEach(() => {
    restore();
    db.close();
  });

  it("counts statements, rows and the commit of a transaction", () => {
    counted();
    db.exec("BEGIN");
    const insert = db.prepare("INSERT INTO t VALUES (?)");
    for (const n of [1, 2, 3]) insert.run(n);
    db.prepare("UPDATE t SET n = n + 1 RETURNING n").all();
    db.exec("COMMIT");
    expect(counted()).toEqual({ statements: 6, rows: 7, commits: 1, readerStatements: 0 });
  });

  it("counts a write outside of a transaction as a commit, and a read as none", () => {
    counted();
    db.prepare("INSERT INTO t VALUES (1)").run();
    db.prepare("SELECT * FROM t").get();
    [...db.prepare("SELECT * FROM t").iterate()];
    db.exec("BEGIN; SELECT 1; COMMIT");
    expect(counted()).toEqual({ statements: 6, rows: 1, commits: 1, readerStatements: 0 });
  });

  it("counts no commit for a rolled-back or empty transaction", () => {
    counted();
    db.exec("BEGIN");
    db.exec("INSERT INTO t VALUES (1)");
    db.exec("ROLLBACK");
    db.exec("BEGIN");
    db.exec("COMMIT");
    expect(counted()).toMatchObject({ statements: 5, rows: 1, commits: 0 });
  });

  it("counts rows that triggers write", () => {
    db.exec("CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.n); END");
    counted();
    db.prepare("INSERT INTO t VALUES (7)").run();
    expect(counted()).toMatchObject({ rows: 2, commits: 1 });
  });

  it("counts statements of a connection that only reads separately, until it writes", () => {
    const reader = new DatabaseSync(":memory:");
    counted();
    reader.prepare("SELECT 1").get();
    reader.prepare("SELECT 2").get();
    expect(counted()).toEqual({ statements: 0, rows: 0, commits: 0, readerStatements: 2 });
    reader.exec("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)");
    expect(counted()).toEqual({ statements: 4, rows: 1, commits: 1, readerStatements: -2 });
    reader.close();
  });

  it("passes results and errors through", () => {
    expect(db.prepare("INSERT INTO t VALUES (5)").run().changes).toBe(1);
    expect(db.prepare("SELECT n FROM t WHERE n = 5").get()).toEqual({ n: 5 });
    expect(() => db.exec("INSERT INTO nowhere VALUES (1)")).toThrow("nowhere");
  });
});
