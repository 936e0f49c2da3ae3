import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { homePaths } from "../../../config/paths.ts";
import { StoreFullError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import type { Change, Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { systemIds } from "../../system/system-ids.ts";
import { repair } from "../files/repair.ts";
import { openEmbeddedStore } from "../open-embedded-store.ts";
import { applyGroup } from "./apply-change.ts";
import { openDatabase } from "./database.ts";
import { readFact } from "./facts.ts";
import { groupCommit } from "./group-commit.ts";
import { openSqliteStore } from "./open-store.ts";

const OPEN_STORE = fileURLToPath(new URL("./open-store.ts", import.meta.url));

let home: string;
let mounted = false;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-full-"));
});
afterEach(() => {
  if (mounted) execFileSync("umount", [home]);
  mounted = false;
  rmSync(home, { recursive: true, force: true });
});

let made = 0;
const change = (...ops: Op[]): Change => ({ id: `c${made++}` as ChangeId, site: "test", at: made, ops });
const put = (key: string, size: number): Op => ({ op: "fact.put", key, value: "x".repeat(size) });

/** Commits facts until the disk is full. Returns the keys whose commits succeeded. */
async function fill(commit: Store["commit"], size: number): Promise<{ kept: string[]; error: unknown }> {
  const kept: string[] = [];
  for (let n = 0; n < 10_000; n++) {
    try {
      const result = await commit(change(put(`k${n}`, size)));
      if (result.ok) kept.push(`k${n}`);
    } catch (error) {
      return { kept, error };
    }
  }
  throw new Error("The disk never became full.");
}

describe("a full disk", () => {
  test("a database that cannot grow rejects commits with a hint, keeps earlier commits, and continues when there is room", async () => {
    const db = openDatabase(join(home, "rookery.db"));
    const pages = Number(db.sql.prepare("PRAGMA page_count").get()?.page_count);
    db.sql.exec(`PRAGMA max_page_count = ${pages + 50}`);
    const group = groupCommit(db, { onFatal: (error) => expect.unreachable(String(error)) });
    const { kept, error } = await fill(group.commit, 3_000);
    expect(error).toBeInstanceOf(StoreFullError);
    expect((error as StoreFullError).hint).toMatch(/room/);
    await expect(group.commit(change(put("other", 9_000)))).rejects.toThrow(StoreFullError);
    expect(kept.length).toBeGreaterThan(10);
    for (const key of kept) expect(readFact(db, key)).toBeDefined();
    expect(readFact(db, `k${kept.length}`)).toBeUndefined();
    db.sql.exec(`PRAGMA max_page_count = ${pages + 500}`);
    expect(await group.commit(change(put("after", 3_000)))).toMatchObject({ ok: true });
    db.close();
  });

  test("each change gets its own result if the disk fills up while a group is applied one by one", async () => {
    const db = openDatabase(join(home, "rookery.db"));
    const pages = Number(db.sql.prepare("PRAGMA page_count").get()?.page_count);
    db.sql.exec(`PRAGMA max_page_count = ${pages + 10}`);
    // The second change is invalid, so each is applied alone; then the third one fills the disk.
    const nonsense = { op: "no such op" } as unknown as Op;
    const group = groupCommit(db, { onFatal: (error) => expect.unreachable(String(error)) });
    const [first, second, third, fourth] = await Promise.allSettled([
      group.commit(change(put("small", 10))),
      group.commit(change(nonsense)),
      group.commit(change(put("huge", 100_000))),
      group.commit(change(put("small too", 10))),
    ]);
    expect(first).toMatchObject({ status: "fulfilled", value: { ok: true } });
    expect(second?.status).toBe("rejected");
    for (const full of [third, fourth]) {
      expect(full?.status === "rejected" && full.reason).toBeInstanceOf(StoreFullError);
    }
    expect(db.sql.prepare("SELECT key FROM facts").all()).toMatchObject([{ key: "small" }]);
    db.close();
  });

  test("counters are read again after a failed write and stay correct", () => {
    const db = openDatabase(join(home, "rookery.db"));
    const create: Op = {
      op: "agent.create",
      seed: {
        id: "a".repeat(24) as never,
        sessionKey: "k" as never,
        profile: "main",
        descriptor: { type: "heartbeat" },
        state: {} as never,
        sessionId: "s" as never,
        lines: [],
        leaf: "l" as never,
        createdAt: 1,
      },
    };
    const post = (text: string): Op => ({
      op: "message.post",
      to: { agentId: "a".repeat(24) as never },
      message: { body: { kind: "user", text }, acceptedAt: 1 },
    });
    applyGroup(db, [change(create)]);
    const pages = Number(db.sql.prepare("PRAGMA page_count").get()?.page_count);
    db.sql.exec(`PRAGMA max_page_count = ${pages + 2}`);
    expect(() => applyGroup(db, [change(post("counted"), post("x".repeat(100_000)))])).toThrow(/full/);
    expect(applyGroup(db, [change(post("small"))])).toMatchObject([{ ok: true, results: [{ seq: 1 }] }]);
    db.close();
  });

  test("a real full disk rejects commits, keeps earlier commits, and continues when there is room", async (context) => {
    const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", home], { encoding: "utf8" });
    if (mount.status !== 0) context.skip(`no right to mount a small disk here: ${mount.stderr}`);
    mounted = true;
    const ballast = join(home, "ballast");
    writeFileSync(ballast, Buffer.alloc(600_000));
    const store = openSqliteStore({ home, onFatal: (error) => expect.unreachable(String(error)) });
    const { kept, error } = await fill(store.commit, 20_000);
    expect(error).toBeInstanceOf(StoreFullError);
    expect(kept.length).toBeGreaterThan(5);
    await expect(store.commit(change(put("other", 200_000)))).rejects.toThrow(StoreFullError);
    for (const key of kept) expect(await store.fact(key)).toHaveLength(20_000);
    rmSync(ballast);
    expect(await store.commit(change(put("after", 20_000)))).toMatchObject({ ok: true });
    await store.close();
    const again = openSqliteStore({ home });
    for (const key of [...kept, "after"]) expect(await again.fact(key)).toHaveLength(20_000);
    expect(await again.fact("other")).toBeUndefined();
    await again.close();
  });
});

describe("a small disk", () => {
  const mountSmall = (size: string, skip: (why: string) => void): void => {
    const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", home], { encoding: "utf8" });
    if (mount.status !== 0) skip(`no right to mount a small disk here: ${mount.stderr}`);
    mounted = true;
  };

  test("is not filled by the log of a database that fits on it", async (context) => {
    mountSmall("6m", (why) => context.skip(why));
    const store = openSqliteStore({ home, onFatal: (error) => expect.unreachable(String(error)) });
    // Ten times the disk, in one fact that is written again and again.
    for (let n = 0; n < 3_000; n++) await store.commit(change(put("same", 20_000)));
    expect(await store.fact("same")).toHaveLength(20_000);
    await store.close();
  });

  test("that another program filled gives one error, and the log makes room for itself when there is some", async (context) => {
    mountSmall("6m", (why) => context.skip(why));
    const reports: string[] = [];
    const store = openSqliteStore({
      home,
      onFatal: (error) => expect.unreachable(String(error)),
      onFull: ({ message }) => reports.push(message),
      onRoom: () => reports.push("room"),
    });
    await store.commit(change(put("kept", 20_000)));
    const ballast = fillDisk(home);
    let refused = 0;
    for (let n = 0; n < 40; n++) {
      await store.commit(change(put(`k${n}`, 20_000))).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreFullError);
        refused += 1;
      });
    }
    expect(refused).toBeGreaterThan(20);
    await expect(store.ready()).rejects.toThrow(StoreFullError);
    expect(await store.fact("kept")).toHaveLength(20_000);
    rmSync(ballast);
    await expect(store.ready()).resolves.toBeUndefined();
    expect(await store.commit(change(put("after", 20_000)))).toMatchObject({ ok: true });
    expect(reports).toEqual([expect.stringContaining("The disk is full"), "room"]);
    await store.close();
  });

  test("that is full is reported as full at a start and at a repair, and nothing is touched", async (context) => {
    mountSmall("6m", (why) => context.skip(why));
    const store = openSqliteStore({ home });
    await store.commit(change(put("kept", 20_000)));
    await store.close();
    const ballast = fillDisk(home);
    const before = readdirSync(home).sort();
    const options = { home, databasePath: join(home, "rookery.db"), ids: systemIds(), now: 1 };
    const open = () =>
      openEmbeddedStore({ ...options, paths: homePaths(home), synchronous: "full", log: silentLog, onFatal() {} });
    await expect(open()).rejects.toMatchObject({ code: "store_full", message: expect.stringContaining("full") });
    expect(() => repair(options)).toThrow(StoreFullError);
    expect(readdirSync(home).sort()).toEqual(before);
    rmSync(ballast);
    const again = await open();
    expect(await again.store.fact("kept")).toHaveLength(20_000);
    await again.close();
  });
});

/** Writes a file until nothing fits any more. Returns its path. */
function fillDisk(directory: string): string {
  const path = join(directory, "ballast");
  for (const size of [65_536, 4_096]) {
    try {
      for (;;) appendFileSync(path, Buffer.alloc(size));
    } catch {
      // This size does not fit any more.
    }
  }
  return path;
}

describe("a home that cannot be written", () => {
  test("a read-only disk is reported when the store is opened, and its data stays", async (context) => {
    const store = openSqliteStore({ home });
    await store.commit(change(put("k", 10)));
    await store.close();
    const bind = spawnSync("mount", ["--bind", home, home], { encoding: "utf8" });
    if (bind.status !== 0) context.skip(`no right to mount here: ${bind.stderr}`);
    mounted = true;
    execFileSync("mount", ["-o", "remount,ro,bind", home]);
    const before = readdirSync(home);
    expect(() => openSqliteStore({ home })).toThrow(StoreFullError);
    expect(readdirSync(home)).toEqual(before);
    execFileSync("mount", ["-o", "remount,rw,bind", home]);
    const again = openSqliteStore({ home });
    expect(await again.fact("k")).toBe("x".repeat(10));
    await again.close();
  });

  test("a home that belongs to another user is reported as such", (context) => {
    if (process.getuid?.() !== 0) {
      chmodSync(home, 0o500);
      expect(() => openSqliteStore({ home })).toThrow(StoreFullError);
      chmodSync(home, 0o700);
      return;
    }
    // Permissions do not restrict root, so another user tries.
    const script = `
      const { openSqliteStore } = await import(${JSON.stringify(OPEN_STORE)});
      try { openSqliteStore({ home: ${JSON.stringify(home)} }); process.stdout.write("opened"); }
      catch (error) { process.stdout.write(error.code + ": " + error.message); }`;
    const otherUser = { uid: 65_534, gid: 65_534 };
    const other = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      ...otherUser,
    });
    if (other.error || other.stdout === "") context.skip(`another user cannot run this here: ${other.stderr}`);
    expect(other.stdout).toMatch(/^store_full: The home .* cannot be written/);
  });
});
