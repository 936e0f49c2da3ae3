/** Opening and closing a store, and the order of their steps: the home is locked from before the first look until the last write. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StoreClosedError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { Change } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { openDatabase } from "./database.ts";
import { isHomeLocked, lockHome } from "./home-lock.ts";
import { openMemoryStore, openSqliteStore } from "./open-store.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-open-"));
});
afterEach(() => rmSync(home, { recursive: true }));

let made = 0;
const change = (...ops: Change["ops"]): Change => ({ id: `c${made++}` as ChangeId, site: "test", at: 5, ops });
const put = change({ op: "fact.put", key: "k", value: "v" });
const join1 = change({ op: "node.join", name: "first", leaseUntil: Number.MAX_SAFE_INTEGER });

test.each([
  [undefined, 1],
  ["full", 1],
  ["normal", 1],
  ["off", 0],
] as const)("SQLite itself flushes around checkpoints only, and never with off: %s", async (synchronous, mode) => {
  let setting: unknown;
  const store = openSqliteStore({
    ...{ home, synchronous },
    afterOpen: ({ sql }) => (setting = sql.prepare("PRAGMA synchronous").get()?.synchronous),
  });
  expect(setting).toBe(mode);
  await store.close();
});

test("makes a missing home for its owner only, and reports one that cannot be made", async () => {
  const fresh = join(home, "new/home");
  await openSqliteStore({ home: fresh }).close();
  expect(statSync(fresh).mode & 0o777).toBe(0o700);
  writeFileSync(join(home, "file"), "");
  expect(() => openSqliteStore({ home: join(home, "file/home") })).toThrow("cannot be written");
  expect(() => lockHome(join(home, "none"))).toThrow("cannot be written");
  expect(existsSync(join(home, "none"))).toBe(false);
});

test("the home is locked before the database is made, and until it is closed", async () => {
  const first = openSqliteStore({ home });
  await first.commit(join1);
  await first.close();
  expect(isHomeLocked(home)).toBe(false);
  const seen: unknown[] = [];
  const store = openSqliteStore({
    home,
    beforeOpen: (path) => seen.push("before", path, isHomeLocked(home), readdirSync(home).includes("rookery.db-wal")),
    afterOpen(db) {
      seen.push("after", isHomeLocked(home), db.get("SELECT gone FROM nodes"));
      const { close } = db;
      const closed = (): void => {
        seen.push("close", isHomeLocked(home), db.get("SELECT value FROM facts"));
        close();
      };
      Object.assign(db, { close: closed });
    },
  });
  expect(seen).toEqual(["before", join(home, "rookery.db"), true, false, "after", true, { gone: 1 }]);
  const committed = store.commit(put);
  await store.close();
  expect(await committed).toMatchObject({ ok: true });
  expect(seen.slice(7)).toEqual(["close", true, { value: "v" }]);
  expect(isHomeLocked(home)).toBe(false);
  // The last connection takes the log with it.
  expect(readdirSync(home).filter((name) => name.startsWith("rookery.db"))).toEqual(["rookery.db"]);
});

test("at rest the log is in the database, a reader at work does not hold up the store, and commits continue", async () => {
  const store = openSqliteStore({ home, restAfterMs: 1 });
  const size = (): number => statSync(join(home, "rookery.db-wal")).size;
  await store.commit(join1);
  await expect.poll(size).toBe(0);
  const reader = openDatabase(join(home, "rookery.db"), { readOnly: true });
  reader.sql.exec("BEGIN");
  reader.get("SELECT count(*) FROM facts");
  const begun = performance.now();
  await store.commit(put);
  await expect.poll(size).toBeGreaterThan(0);
  await store.commit(change({ op: "fact.put", key: "k", value: "w" }));
  // A wait for the reader would take five seconds.
  expect(performance.now() - begun).toBeLessThan(4_000);
  reader.close();
  await store.commit(change({ op: "fact.put", key: "k", value: "x" }));
  await expect.poll(size).toBe(0);
  expect(await store.fact("k")).toBe("x");
  await store.close();
});

test.each(["beforeOpen", "afterOpen"] as const)(
  "an error of %s releases the home and is passed on as it is",
  async (at) => {
    const error = new Error("no");
    const fail = (): never => {
      throw error;
    };
    expect(() => openSqliteStore({ home, [at]: fail })).toThrow(error);
    expect(isHomeLocked(home)).toBe(false);
    await openSqliteStore({ home }).close();
  },
);

test.each([
  ["in memory", () => openMemoryStore()],
  ["on a file", () => openSqliteStore({ home })],
] as const)("a store %s commits what was handed in before it closes, and is closed then", async (_title, open) => {
  const store: Store = open();
  await store.ready();
  const committed = store.commit(change({ op: "fact.put", key: "k", value: "v" }));
  const closing = store.close();
  expect(store.close()).toBe(closing);
  await closing;
  expect(await committed).toMatchObject({ ok: true });
  for (const use of [() => store.fact("k"), () => store.ready(), () => store.outcome("c" as ChangeId)])
    await expect(use()).rejects.toThrow(StoreClosedError);
});
