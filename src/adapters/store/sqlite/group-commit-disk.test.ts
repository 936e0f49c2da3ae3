/** Group commit on a disk that is full for a while or fails, how large its groups and its log are, and what one flush covers. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError, StoreFullError, StoreLostError, StoreUnreadableError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import { type Database, openDatabase } from "./database.ts";
import { freeBytes, logPagesFor } from "./disk-room.ts";
import { groupCommit, openLogFlush } from "./group-commit.ts";

let home = "";
let db: Database;
let made = 0;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-group-"));
  db = openDatabase(join(home, "rookery.db"), { synchronous: "off" });
});
afterEach(() => {
  db.close();
  rmSync(home, { recursive: true, force: true });
});

const put = (key: string): Op => ({ op: "fact.put", key, value: "1" });
const change = (...ops: readonly Op[]): Change => ({ id: `c${++made}` as ChangeId, site: "test", at: made, ops });
const keys = (): unknown[] =>
  db.sql
    .prepare("SELECT key FROM facts ORDER BY key")
    .all()
    .map(({ key }) => key);

/** Makes commits of transactions fail with a number of SQLite, before anything of them is stored. */
function failing(): { errcode: number | undefined; commits: number } {
  const state = { errcode: undefined as number | undefined, commits: 0 };
  const exec = db.sql.exec.bind(db.sql);
  db.sql.exec = (text) => {
    if (text === "COMMIT") state.commits += 1;
    if (text !== "COMMIT" || state.errcode === undefined) return exec(text);
    exec("ROLLBACK");
    throw Object.assign(new Error("the disk"), { errcode: state.errcode });
  };
  return state;
}

/** A group that tells what it reports. */
function group(options: Partial<Parameters<typeof groupCommit>[1]> = {}) {
  const told: string[] = [];
  const made = groupCommit(db, {
    onFull: () => told.push("full"),
    onRoom: () => told.push("room"),
    onFatal: () => told.push("fatal"),
    onCommitted: () => told.push("committed"),
    ...options,
  });
  return { ...made, told };
}

describe("a disk that is full", () => {
  test("is reported once, refuses what comes, and has room again with the next commit that succeeds", async () => {
    const disk = failing();
    const { commit, full, told } = group({ directory: home });
    await commit(change(put("a")));
    expect([full(), told]).toEqual([undefined, ["committed"]]);
    disk.errcode = 13;
    await expect(commit(change(put("b")))).rejects.toThrow(StoreFullError);
    await expect(commit(change(put("c")))).rejects.toThrow(StoreFullError);
    expect([full()?.code, told]).toEqual([new StoreFullError("x").code, ["committed", "full"]]);
    disk.errcode = undefined;
    await commit(change(put("d")));
    await commit(change(put("e")));
    expect([full(), told]).toEqual([undefined, ["committed", "full", "committed", "room", "committed"]]);
    expect(keys()).toEqual(["a", "d", "e"]);
    disk.errcode = 13;
    await expect(commit(change(put("f")))).rejects.toThrow(StoreFullError);
    expect(told.at(-1)).toBe("full");
  });

  test("gets room from its own log if that can be moved into the database, and only then is tried again", async () => {
    const disk = failing();
    disk.errcode = 13;
    const { commit } = group();
    await expect(commit(change(put("a")))).rejects.toThrow(StoreFullError);
    expect(disk.commits).toBe(2);
    // Another connection reads an older state, so the log has to stay.
    const reader = openDatabase(join(home, "rookery.db"), { readOnly: true });
    disk.errcode = undefined;
    reader.sql.exec("BEGIN");
    reader.all("SELECT key FROM facts");
    await commit(change(put("b")));
    db.sql.exec("PRAGMA busy_timeout = 0");
    Object.assign(disk, { errcode: 13, commits: 0 });
    await expect(commit(change(put("c")))).rejects.toThrow(StoreFullError);
    expect(disk.commits).toBe(1);
    reader.close();
  });

  test.each([
    ["cannot be written", 8, false],
    ["cannot be opened", 14, false],
    ["fails", 10, true],
    ["is damaged", 11, true],
  ])("or one that %s (%i) ends the process: %s", async (_what, errcode, fatal) => {
    const disk = failing();
    disk.errcode = errcode;
    const { commit, told, full } = group({ directory: home });
    await expect(commit(change(put("a")))).rejects.toThrow(fatal ? StoreUnreadableError : StoreFullError);
    expect(told).toEqual([fatal ? "fatal" : "full"]);
    expect(full() === undefined).toBe(fatal);
    expect(disk.commits).toBe(1);
  });

  test("in the middle of a group that is applied one by one answers what was stored, and refuses the rest", async () => {
    const disk = failing();
    const { commit, told } = group();
    const nonsense = { op: "no such op" } as unknown as Op;
    const commits = [put("a"), nonsense, put("b"), put("c")].map((op) => commit(change(op)));
    // The group fails because of the second, then each gets a transaction: the disk fails at the third.
    const exec = db.sql.exec;
    db.sql.exec = (text) => {
      if (text === "COMMIT" && disk.commits === 1) disk.errcode = 8;
      return exec.call(db.sql, text);
    };
    const results = await Promise.allSettled(commits);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
    const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    expect(reasons.map((reason) => reason instanceof StoreFullError)).toEqual([false, true, true]);
    expect([keys(), told]).toEqual([["a"], ["committed", "full"]]);
  });
});

describe("a group", () => {
  test("has at most 64 changes", async () => {
    const { commit, told } = group();
    await Promise.all(Array.from({ length: 64 }, (_none, n) => commit(change(put(`a${n}`)))));
    expect(told).toHaveLength(1);
    await Promise.all(Array.from({ length: 65 }, (_none, n) => commit(change(put(`b${n}`)))));
    expect(told).toHaveLength(3);
  });

  test("of which every 256th fits the log to the room of the disk, if there is a disk", async () => {
    const pages = (): unknown => db.sql.prepare("PRAGMA wal_autocheckpoint").get()?.wal_autocheckpoint;
    const fitted = logPagesFor(freeBytes(home));
    const commits = async (commit: (one: Change) => Promise<unknown>, count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await commit(change());
    };
    db.sql.exec("PRAGMA wal_autocheckpoint = 7");
    await commits(group().commit, 257);
    expect(pages()).toBe(7);
    const { commit } = group({ directory: home });
    await commits(commit, 255);
    expect(pages()).toBe(7);
    await commits(commit, 1);
    expect(pages()).toBe(fitted);
    db.sql.exec("PRAGMA wal_autocheckpoint = 7");
    await commits(commit, 255);
    expect(pages()).toBe(7);
    await commits(commit, 1);
    expect(pages()).toBe(fitted);
  });

  test("is not applied to files that are lost, and not answered if they are lost meanwhile", async () => {
    const looks: (StoreLostError | undefined)[] = [new StoreLostError("lost"), undefined, new StoreLostError("lost")];
    const { commit, told } = group({ lost: () => looks.shift() });
    await expect(commit(change(put("a")))).rejects.toThrow(StoreLostError);
    expect(keys()).toEqual([]);
    await expect(commit(change(put("b")))).rejects.toThrow(CommitUnknownError);
    expect([keys(), told]).toEqual([["b"], []]);
    await commit(change(put("c")));
    expect(told).toEqual(["committed"]);
  });

  test("of one change is committed when it is closed, once, and its flush is waited for", async () => {
    const flushes: ((error: Error | null) => void)[] = [];
    const { commit, close, told } = group({ log: { flush: (done) => void flushes.push(done), close() {} } });
    const committing = commit(change(put("a")));
    let closed = false;
    const closing = close().then(() => {
      closed = true;
    });
    expect(keys()).toEqual(["a"]);
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([closed, flushes.length]).toEqual([false, 1]);
    flushes[0]?.(null);
    await Promise.all([committing, closing]);
    expect(told).toEqual(["committed"]);
  });

  test("that nothing waits for is closed at once", async () => {
    const flush = openLogFlush(join(home, "rookery.db"));
    const { commit, close } = group({ log: flush });
    await commit(change(put("a")));
    await close();
    await close();
    flush.close();
  });
});

describe("a flush of the log", () => {
  test("calls back everyone who asked before it began, and once each, in their order", async () => {
    const log = openLogFlush(join(home, "rookery.db"));
    const told: string[] = [];
    const asked = (name: string): Promise<void> =>
      new Promise((resolve) =>
        log.flush((error) => {
          told.push(`${name} ${error}`);
          resolve();
        }),
      );
    // The first begins at once; the others wait for it and share the second.
    await Promise.all([asked("a"), asked("b"), asked("c")]);
    expect(told).toEqual(["a null", "b null", "c null"]);
    await asked("d");
    expect(told).toHaveLength(4);
    log.close();
  });

  test("that fails is told to everyone whom it covers", async () => {
    // A pipe cannot be flushed.
    execFileSync("mkfifo", [join(home, "pipe-wal")]);
    const log = openLogFlush(join(home, "pipe"));
    const asked = (): Promise<unknown> => new Promise((resolve) => log.flush(resolve));
    expect(await Promise.all([asked(), asked()])).toMatchObject([{ code: "EINVAL" }, { code: "EINVAL" }]);
    log.close();
  });
});
