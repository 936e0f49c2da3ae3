import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { StoreClosedError, StoreUnreadableError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { Change, CommitResult, Op } from "../../../core/store/change.ts";
import { type Database, openDatabase } from "./database.ts";
import { groupCommit } from "./group-commit.ts";

const put = (n: number): Op => ({ op: "fact.put", key: `f${n}`, value: "1" });
const change = (n: number, ...ops: Op[]): Change => ({ id: `c${n}` as ChangeId, site: "test", at: n, ops });
/** An op that does not exist: only a bug can commit it. */
const nonsense = { op: "no such op" } as unknown as Op;

/** Counts the transactions of a database. */
function countTransactions(db: Database): () => number {
  let count = 0;
  const exec = db.sql.exec.bind(db.sql);
  db.sql.exec = (text) => {
    if (text.startsWith("COMMIT")) count += 1;
    exec(text);
  };
  return () => count;
}

const facts = (db: Database): number => db.sql.prepare("SELECT key FROM facts").all().length;

describe("group commit", () => {
  test("puts concurrent changes into one transaction, in bounded batches", async () => {
    const db = openDatabase(":memory:");
    const transactions = countTransactions(db);
    const group = groupCommit(db, { onFatal: () => {} });
    await Promise.all(Array.from({ length: 10 }, (_, n) => group.commit(change(n, put(n)))));
    expect(transactions()).toBe(1);
    await Promise.all(Array.from({ length: 193 }, (_, n) => group.commit(change(n, put(n)))));
    expect(transactions()).toBe(1 + 4);
    db.close();
  });

  test("asks for a turn only while changes wait", async () => {
    const db = openDatabase(":memory:");
    const group = groupCommit(db, { maxBatch: 2, onFatal: () => {} });
    const turns = vi.spyOn(globalThis, "setImmediate");
    await Promise.all([1, 2, 3, 4].map((n) => group.commit(change(n, put(n)))));
    await group.commit(change(5, put(5)));
    expect(turns).toHaveBeenCalledTimes(3);
    turns.mockRestore();
    db.close();
  });

  test("a change that throws is rejected, and the others are applied", async () => {
    const db = openDatabase(":memory:");
    const group = groupCommit(db, { onFatal: () => {} });
    const results = await Promise.allSettled([
      group.commit(change(1, put(1))),
      group.commit(change(2, put(2), nonsense)),
      group.commit(change(3, put(3))),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(db.sql.prepare("SELECT key FROM facts ORDER BY key").all()).toMatchObject([{ key: "f1" }, { key: "f3" }]);
    db.close();
  });

  test("resolves no commit before the log is flushed, and one flush resolves all commits written before it", async () => {
    const db = openDatabase(":memory:");
    const flushes: ((error: Error | null) => void)[] = [];
    const group = groupCommit(db, {
      log: { flush: (done) => void flushes.push(done), close: () => {} },
      onFatal: () => {},
    });
    const answered: number[] = [];
    const commits = [1, 2].map((n) => group.commit(change(n, put(n))).then(() => answered.push(n)));
    await turn();
    expect(facts(db)).toBe(2);
    expect(answered).toEqual([]);
    expect(flushes).toHaveLength(1);
    flushes[0]?.(null);
    await Promise.all(commits);
    expect(answered).toEqual([1, 2]);
    db.close();
  });

  test("a refusal also waits for the flush, because it may depend on a change that is not flushed yet", async () => {
    const db = openDatabase(":memory:");
    const flushes: ((error: Error | null) => void)[] = [];
    const group = groupCommit(db, {
      log: { flush: (done) => void flushes.push(done), close: () => {} },
      onFatal: () => {},
    });
    let answer: CommitResult | undefined;
    const refused = group.commit({
      ...change(1, put(1)),
      owner: { agentId: "unknown" as never, node: 1, epoch: 1 },
    });
    const seen = refused.then((result) => {
      answer = result;
    });
    await turn();
    expect(answer).toBeUndefined();
    flushes[0]?.(null);
    await seen;
    expect(answer).toMatchObject({ ok: false, refused: "missing" });
    db.close();
  });

  test("a log that cannot be flushed is fatal, because the content of the disk is unknown", async () => {
    const db = openDatabase(":memory:");
    const fatal: unknown[] = [];
    const group = groupCommit(db, {
      log: { flush: (done) => done(new Error("EIO: i/o error, fdatasync")), close: () => {} },
      onFatal: (error) => fatal.push(error),
    });
    await expect(group.commit(change(1, put(1)))).rejects.toThrow(StoreUnreadableError);
    expect(fatal).toHaveLength(1);
    db.close();
  });

  test("closing commits the queued changes, waits for their flush and rejects later ones", async () => {
    const db = openDatabase(":memory:");
    const flushes: ((error: Error | null) => void)[] = [];
    const group = groupCommit(db, {
      log: { flush: (done) => void flushes.push(done), close: () => {} },
      onFatal: () => {},
    });
    const commits = Array.from({ length: 128 }, (_, n) => group.commit(change(n, put(n))));
    let closed = false;
    const closing = group.close().then(() => {
      closed = true;
    });
    await expect(group.commit(change(999))).rejects.toThrow(StoreClosedError);
    expect(facts(db)).toBe(128);
    await turn();
    expect(closed).toBe(false);
    for (const done of flushes) done(null);
    await closing;
    expect((await Promise.all(commits)).every((result) => result.ok)).toBe(true);
    db.close();
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test.each([
  ["an input or output error", 10, 1],
  ["a full disk", 13, 2],
])("a commit that ends with %s is applied again only if nothing of it was stored (M2)", async (_, errcode, times) => {
  const home = mkdtempSync(join(tmpdir(), "rookery-again-"));
  const db = openDatabase(join(home, "rookery.db"));
  const exec = db.sql.exec.bind(db.sql);
  let commits = 0;
  db.sql.exec = (text: string) => {
    if (text !== "COMMIT" || ++commits > 1) return exec(text);
    // The log's index fails after the change was written; a full disk fails before.
    exec(errcode === 10 ? "COMMIT" : "ROLLBACK");
    throw Object.assign(new Error("disk"), { errcode });
  };
  const fatal: unknown[] = [];
  const group = groupCommit(db, { onFatal: (error) => fatal.push(error) });
  const outcome = await group.commit({ ...change(1, put(1)), id: "once" as ChangeId }).catch((error: unknown) => error);
  expect([commits, fatal.length]).toEqual([times, errcode === 10 ? 1 : 0]);
  expect(outcome instanceof Error).toBe(errcode === 10);
  expect(db.sql.prepare("SELECT count(*) AS n FROM changes WHERE id = 'once'").get()).toEqual({ n: 1 });
  db.close();
  rmSync(home, { recursive: true, force: true });
});
