import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HomeLockedError, StoreFullError, StoreLostError } from "../../../core/errors.ts";
import { makeDirectory } from "../../system/make-directory.ts";
import { isHomeLocked, lockHome } from "./home-lock.ts";
import { openSqliteStore } from "./open-store.ts";

const OPEN_STORE = fileURLToPath(new URL("./open-store.ts", import.meta.url));

let home: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-lock-"));
});
afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  child = undefined;
  rmSync(home, { recursive: true, force: true });
});

/** Starts another process that opens the store on the home and keeps running. */
async function holder(): Promise<ChildProcess> {
  const script = `
    const { openSqliteStore } = await import(${JSON.stringify(OPEN_STORE)});
    openSqliteStore({ home: ${JSON.stringify(home)} });
    process.stdout.write("open");
    setInterval(() => {}, 1_000_000);`;
  const started = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(started.stdout, "data");
  return started;
}

test("a home is not made again by the process that holds its lock, until it is released", () => {
  const lock = lockHome(home);
  rmSync(home, { recursive: true });
  expect(() => makeDirectory(join(home, "agents"))).toThrow(StoreLostError);
  expect(existsSync(home)).toBe(false);
  lock.release();
  makeDirectory(join(home, "agents"));
  expect(existsSync(home)).toBe(true);
});

test("a second process on the same home gets the pid of the first", async () => {
  child = await holder();
  const attempt = (): unknown => openSqliteStore({ home });
  expect(attempt).toThrow(HomeLockedError);
  expect(attempt).toThrow(`pid ${child.pid}`);
});

test("the lock of a killed process ends with it, and its commits stay", async () => {
  child = await holder();
  child.kill("SIGKILL");
  await once(child, "exit");
  const store = openSqliteStore({ home });
  expect(await store.nodes()).toEqual([]);
  await store.close();
});

test("one process cannot lock the same home twice, and can lock it again after the release", () => {
  const first = lockHome(home);
  expect(() => lockHome(home)).toThrow(HomeLockedError);
  expect(() => lockHome(home)).toThrow(`pid ${process.pid}`);
  first.release();
  expect(existsSync(join(home, "rookery.pid"))).toBe(false);
  lockHome(home).release();
});

test("a home that cannot be written is reported as such, not as locked", () => {
  expect(() => lockHome(join(home, "not there"))).toThrow(StoreFullError);
});

test("the lock is released after the database is closed, so that no two processes ever have it open", async () => {
  const order: string[] = [];
  const store = openSqliteStore({
    home,
    afterOpen: (db) => {
      const { close } = db;
      db.close = () => {
        close();
        order.push(isHomeLocked(home) ? "closed, locked" : "closed, not locked");
      };
    },
  });
  expect(isHomeLocked(home)).toBe(true);
  await store.close();
  expect(order).toEqual(["closed, locked"]);
  expect(isHomeLocked(home)).toBe(false);
});

test("whether a home is locked is asked without locking it", () => {
  expect(isHomeLocked(home)).toBe(false);
  const lock = lockHome(home);
  expect([isHomeLocked(home), isHomeLocked(home)]).toEqual([true, true]);
  lock.release();
  expect(isHomeLocked(home)).toBe(false);
  lockHome(home).release();
  writeFileSync(join(home, "rookery.lock"), "this is no file of a lock".repeat(100));
  expect(() => isHomeLocked(home)).toThrow("not a database");
});

test("the files of the lock are for their owner only, and another process's pid stays", () => {
  writeFileSync(join(home, "rookery.lock"), "", { mode: 0o644 });
  const lock = lockHome(home);
  for (const file of ["rookery.lock", "rookery.pid"]) expect(statSync(join(home, file)).mode & 0o777, file).toBe(0o600);
  writeFileSync(join(home, "rookery.pid"), "1\n");
  lock.release();
  expect(existsSync(join(home, "rookery.pid"))).toBe(true);
});

test("a store that cannot be opened releases the lock", async () => {
  const store = openSqliteStore({ home });
  await store.close();
  const { DatabaseSync } = await import("node:sqlite");
  const sql = new DatabaseSync(join(home, "rookery.db"));
  sql.exec("PRAGMA user_version = 99");
  sql.close();
  expect(() => openSqliteStore({ home })).toThrow(/schema version 99/);
  lockHome(home).release();
});

test("only the owner can read the database and its log", async () => {
  const store = openSqliteStore({ home });
  for (const file of ["rookery.db", "rookery.db-wal", "rookery.db-shm"]) {
    expect(statSync(join(home, file)).mode & 0o777, file).toBe(0o600);
  }
  await store.close();
});
