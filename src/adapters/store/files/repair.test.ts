import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HomeLockedError, StoreNewerError } from "../../../core/errors.ts";
import type { AgentId, ChangeId, Ids } from "../../../core/ids.ts";
import { openDatabase } from "../sqlite/database.ts";
import { lockHome } from "../sqlite/home-lock.ts";
import { readerOf } from "../sqlite/reader.ts";
import { diskFiles } from "./disk-files.ts";
import { openMirror } from "./mirror.ts";
import { repair } from "./repair.ts";
import { afterRestoredBackup } from "./restored-backup.ts";
import { sqliteSource } from "./sqlite-source.ts";
import { Workload } from "./workload.test-kit.ts";

const NOW = 1_800_000_000_000;
const ann = "ann".padEnd(24, "0") as AgentId;
const bob = "bob".padEnd(24, "0") as AgentId;
let home: string;
let path: string;
let ids: Ids;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-repair-"));
  path = join(home, "rookery.db");
  let count = 0;
  const uuid = () => `00000000-0000-7000-9000-${(++count).toString(16).padStart(12, "0")}`;
  ids = { agent: () => ann, uuid, change: () => `repair-${++count}` as ChangeId };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Ann's first message is in the plain files; later changes are in the database only. */
function livedBeyondTheFiles(beyond: (work: Workload) => void): void {
  const db = openDatabase(path, { synchronous: "off" });
  const work = new Workload(db);
  work.agent("ann");
  work.post(ann, "in the files");
  const mirror = openMirror({ source: sqliteSource(db.sql), files: diskFiles(home), now: () => NOW });
  while (mirror.step().more);
  mirror.sync();
  beyond(work);
  db.close();
}

/** Makes the checks fail and leaves most rows readable: the index of deliveries is lost. */
function breakIndex(): void {
  const db = openDatabase(path);
  const page = Number(db.sql.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'runs_id'").get()?.rootpage);
  db.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, (page - 1) * 4096, page * 4096);
  writeFileSync(path, bytes);
}

const told: string[] = [];
const mend = () => {
  told.length = 0;
  return repair({ home, databasePath: path, ids, now: NOW, onProgress: (text) => void told.push(text) });
};
const [CHECKING, SAVING, BUILDING] = [
  "Checking the database.",
  "Saving what can still be read into the plain files.",
  "Building a new database from the plain files.",
];

describe("repairing", () => {
  test("leaves a readable database unchanged", () => {
    livedBeyondTheFiles(() => {});
    const before = readFileSync(path);
    expect(mend()).toEqual({ found: { kind: "ok" }, repaired: false, kept: [] });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("keeps the broken file, rebuilds, and recovers readable rows that the files lack", async () => {
    livedBeyondTheFiles((work) => {
      work.post(ann, "only in the database");
      work.agent("bob");
    });
    breakIndex();
    const broken = readFileSync(path);
    const report = mend();
    expect(report).toMatchObject({
      repaired: true,
      salvaged: { agents: 2, lines: 2, failed: [] },
      rebuilt: { agents: 2, waiting: 2 },
    });
    expect(report.kept).toHaveLength(1);
    expect(report.kept[0]).toMatch(/rookery\.db\.broken-/);
    expect(readFileSync(report.kept[0] ?? "").equals(broken)).toBe(true);
    const db = openDatabase(path);
    const waiting = await readerOf(db).waiting(ann, { limit: 10 });
    expect(waiting.map(({ body }) => "text" in body && body.text)).toEqual(["in the files", "only in the database"]);
    expect(await readerOf(db).agent(bob)).toBeDefined();
    db.close();
  });

  test("works from the files alone if nothing in the database can be read", async () => {
    livedBeyondTheFiles((work) => work.post(ann, "lost"));
    writeFileSync(path, "x".repeat(8192));
    const report = mend();
    expect(report).toMatchObject({ repaired: true, salvaged: { agents: 0 }, rebuilt: { agents: 1, waiting: 1 } });
    expect(report.salvaged?.failed.length).toBeGreaterThan(0);
  });

  test("does not recover garbled rows of the broken database", async () => {
    livedBeyondTheFiles((work) => {
      work.post(ann, "beyond");
      work.db.sql.exec("UPDATE agents SET state = replace(state, 'version', 'vorsion')");
    });
    breakIndex();
    const report = mend();
    expect(report.salvaged?.failed).toMatchObject([{ what: "agent 1" }]);
    expect(report.rebuilt).toMatchObject({ agents: 1, waiting: 1, problems: [] });
  });

  test("moves a log without its database aside", () => {
    livedBeyondTheFiles(() => {});
    rmSync(path);
    writeFileSync(`${path}-wal`, "frames");
    const report = mend();
    expect(report).toMatchObject({ found: { kind: "orphaned-wal" }, repaired: true, rebuilt: { agents: 1 } });
    expect(readFileSync(report.kept[0] ?? "", "utf8")).toBe("frames");
    expect(told).toEqual([CHECKING, BUILDING]);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test("says what it does, and that it saves rows only if the database has some", () => {
    livedBeyondTheFiles(() => {});
    mend();
    expect(told).toEqual([CHECKING]);
    breakIndex();
    mend();
    expect(told).toEqual([CHECKING, SAVING, BUILDING]);
  });

  test("makes no database of a home that never had an agent, and builds one of agents without a database", () => {
    expect(mend()).toEqual({ found: { kind: "missing" }, repaired: false, kept: [] });
    expect([existsSync(path), told]).toEqual([false, [CHECKING]]);
    livedBeyondTheFiles(() => {});
    rmSync(path);
    expect(repair({ home, databasePath: path, ids, now: NOW })).toMatchObject({
      ...{ found: { kind: "missing" }, repaired: true, kept: [], salvaged: undefined },
      rebuilt: { agents: 1 },
    });
    expect(existsSync(path)).toBe(true);
  });

  test("says what it could not read of a database that is none, and counts nothing as saved", () => {
    livedBeyondTheFiles(() => {});
    writeFileSync(path, "this is no database".repeat(500));
    const { salvaged, kept } = mend();
    expect(salvaged).toMatchObject({ agents: 0, lines: 0 });
    expect(salvaged?.failed).not.toEqual([]);
    expect(kept).toEqual([`${path}.broken-2027-01-15T08-00-00-000Z`]);
    expect(readdirSync(home).filter((name) => name.startsWith(".rookery-"))).toEqual([]);
  });

  test("refuses a newer database and a home in use", () => {
    livedBeyondTheFiles((work) => work.db.sql.exec("PRAGMA user_version = 99"));
    expect(mend).toThrow(StoreNewerError);
    const lock = lockHome(home);
    expect(mend).toThrow(HomeLockedError);
    lock.release();
  });
});

describe("a restored backup", () => {
  const person = { id: "ann", role: "guest", accounts: [], grants: [], createdAt: 1, createdBy: "owner" } as const;
  const other = JSON.stringify({ version: 1, synced: 5000, change: "later", at: NOW, clean: true });

  test.each([
    ["rights have changed since", JSON.stringify({ version: 1, revision: 2, people: [] }), true],
    ["it cannot be told whether rights have changed", "{", true],
    ["the file is missing", undefined, true],
    ["rights have not changed", JSON.stringify({ version: 1, revision: 1, people: [person] }), false],
  ])("knows only the owner if %s", async (_, text, forgotten) => {
    const db = openDatabase(path, { synchronous: "off" });
    new Workload(db).commit([{ op: "person.put", person }]);
    const files = diskFiles(home);
    if (text !== undefined) files.replace("people.json", text);
    files.replace("mirror.json", other);
    const lost = afterRestoredBackup(db, files, { ids, now: NOW });
    expect(lost).toEqual({ runs: 0, messages: 0, deliveries: 0, ...(forgotten ? { people: 1 } : {}) });
    const reader = readerOf(db);
    expect(await reader.people({ limit: 10 })).toEqual(forgotten ? [] : [person]);
    if (forgotten) expect(await reader.rightsRevision()).toBeGreaterThan(1);
    db.close();
  });

  test("keeps what the owner denies and wants to be asked, without what was allowed, if rights may have changed", async () => {
    const db = openDatabase(path, { synchronous: "off" });
    const owner = { ...person, id: "owner", role: "owner" } as const;
    const grants = [{ allow: "exec" }, { deny: "write" }, { ask: "send" }];
    const work = new Workload(db);
    work.commit([{ op: "person.put", person: { ...owner, grants } }]);
    work.commit([{ op: "person.put", person: { ...person, grants } }]);
    const files = diskFiles(home);
    files.replace("mirror.json", other);
    expect(afterRestoredBackup(db, files, { ids, now: NOW })).toMatchObject({ people: 2 });
    const reader = readerOf(db);
    expect(await reader.people({ limit: 10 })).toEqual([{ ...owner, grants: grants.slice(1) }]);
    expect(await reader.rightsRevision()).toBe(3);
    db.close();
  });

  test("has its open work ended, once", async () => {
    const db = openDatabase(path, { synchronous: "off" });
    const work = new Workload(db);
    work.agent("ann");
    work.post(ann, "hello");
    const runId = work.take(ann, [1]);
    work.commit([{ op: "node.leave", node: work.node }]);
    const files = diskFiles(home);
    expect(afterRestoredBackup(db, files, { ids, now: NOW })).toBeUndefined();
    files.replace("mirror.json", JSON.stringify({ version: 1, synced: 5000, change: "later", at: NOW, clean: true }));
    expect(afterRestoredBackup(db, files, { ids, now: NOW })).toEqual({ runs: 1, messages: 1, deliveries: 0 });
    expect(await readerOf(db).run(runId)).toMatchObject({ outcome: "lost" });
    expect(afterRestoredBackup(db, files, { ids, now: NOW })).toBeUndefined();
    db.close();
  });
});
