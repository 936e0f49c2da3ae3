import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Workload } from "../../../adapters/store/files/workload.test-kit.ts";
import { openDatabase } from "../../../adapters/store/sqlite/database.ts";
import { openSqliteStore } from "../../../adapters/store/sqlite/open-store.ts";
import { systemIds } from "../../../adapters/system/system-ids.ts";
import { configSchema } from "../../../config/config-schema.ts";
import { createHome } from "../../../config/create-home.ts";
import { homePaths, restoreMarker } from "../../../config/paths.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { seedAgent } from "../../../engine/context/seed-agent.ts";
import { createBackup } from "./create-backup.ts";
import { MANIFEST } from "./manifest.ts";
import { readBackup } from "./read-backup.ts";
import { finishRestore, restoreBackup } from "./restore-backup.ts";
import { TarWriter } from "./tar-write.ts";

const ids = systemIds();
const config = configSchema.parse({});
const AT = Date.parse("2026-03-01T10:00:00Z");
const TERMINAL = { type: "user", connector: "terminal", userId: "owner", channelId: "owner" } as const;

let dir: string;
let home: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rookery-backup-"));
  home = join(dir, "home");
  file = join(dir, "backup.tar.gz");
  mkdirSync(join(home, "workspace"), { recursive: true, mode: 0o700 });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const backup = (more: object = {}) => createBackup({ paths: homePaths(home), config, env: {}, file, ...more });
const restore = (to: string, more: object = {}) =>
  restoreBackup({ file, home: to, ids, now: AT, env: {}, mayStart: async () => true, ...more });

it("says that there is no backup of this name, and makes no home", async () => {
  await expect(restore(join(dir, "restored"))).rejects.toThrow(`There is no backup ${file}.`);
  expect(readdirSync(dir)).toEqual(["home"]);
});

async function withStore<T>(
  at: string,
  work: (store: Store, commit: (...ops: Op[]) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const store = openSqliteStore({ home: at, synchronous: "normal" });
  const commit = (...ops: Op[]) => store.commit({ id: ids.change(), site: "test", at: AT, ops });
  try {
    return await work(store, commit);
  } finally {
    await store.close();
  }
}

/** A home with an agent: one message waits, one is taken by an open run, and one delivery is not sent. */
function openWork() {
  const db = openDatabase(join(home, "rookery.db"), { synchronous: "off" });
  const work = new Workload(db);
  const ann = work.agent("ann");
  work.post(ann, "answered");
  const delivery = work.answer(ann, work.take(ann, [1]), [1]).id;
  work.post(ann, "taken");
  const runId = work.take(ann, [2]);
  work.post(ann, "waits");
  db.close();
  return { ann, runId, delivery };
}

describe("a backup", () => {
  it("contains the logins at model providers, and gives them back readable for their owner only", async () => {
    await withStore(home, async () => undefined);
    const logins = JSON.stringify({ openrouter: { default: { access: "a", refresh: "r", expires: 1 } } });
    writeFileSync(join(home, "logins.json"), logins, { mode: 0o600 });
    await backup();
    await restore(join(dir, "other"));
    expect(readFileSync(join(dir, "other", "logins.json"), "utf8")).toBe(logins);
    expect(statSync(join(dir, "other", "logins.json")).mode & 0o777).toBe(0o600);
  });

  it("is made while the store is open, and restores the database, files and workspace elsewhere", async () => {
    const agent = seedAgent(ids, TERMINAL, AT);
    mkdirSync(join(home, "logs"));
    writeFileSync(join(home, "workspace", "MEMORY.md"), "Olga likes tea.");
    writeFileSync(join(home, "auth.json"), '{"key":"secret"}', { mode: 0o600 });
    writeFileSync(join(home, "logs", "rookery.log"), "noise");
    writeFileSync(join(home, "of-a-later-version.json"), "{}");
    symlinkSync("/etc/passwd", join(home, "workspace", "outside"));
    symlinkSync("MEMORY.md", join(home, "workspace", "inside"));
    const { manifest } = await withStore(home, async (_store, commit) => {
      await commit({ op: "agent.create", seed: agent });
      return backup();
    });
    expect(manifest.rows.agents).toBe(1);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const to = join(dir, "other");
    const { lost, kept, refusedLinks } = await restore(to);
    expect({ lost, kept }).toEqual({ lost: { runs: 0, messages: 0, deliveries: 0 }, kept: null });
    expect(refusedLinks).toEqual(["workspace/outside"]);
    expect(readFileSync(join(to, "workspace", "MEMORY.md"), "utf8")).toBe("Olga likes tea.");
    expect(readFileSync(join(to, "auth.json"), "utf8")).toContain("secret");
    expect(statSync(join(to, "auth.json")).mode & 0o777).toBe(0o600);
    expect(existsSync(join(to, "of-a-later-version.json"))).toBe(true);
    expect(existsSync(join(to, "logs"))).toBe(false);
    expect(readdirSync(join(to, "workspace")).sort()).toEqual(["MEMORY.md", "inside"]);
    expect(readFileSync(join(to, "workspace", "inside"), "utf8")).toBe("Olga likes tea.");
    await withStore(to, async (store) => expect((await store.agent(agent.id))?.sessionKey).toBe(agent.sessionKey));
    expect(readdirSync(dir).sort()).toEqual(["backup.tar.gz", "home", "other"]);
  });

  it("never replaces a file, and needs a database", async () => {
    await expect(backup()).rejects.toThrow("There is no database");
    openWork();
    writeFileSync(file, "mine");
    await expect(backup()).rejects.toThrow("exists already");
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("removes what a killed backup left, and keeps the files of a running one", async () => {
    openWork();
    const [dead, alive] = [join(dir, ".rookery-backup-999999-aa"), join(dir, `.rookery-backup-${process.pid}-bb`)];
    for (const one of [dead, alive]) mkdirSync(one);
    await backup();
    expect([existsSync(dead), existsSync(alive)]).toEqual([false, true]);
  });
});

describe("a restore", () => {
  it("ends open work: runs are lost and told, deliveries unconfirmed, and what waits still waits", async () => {
    const { ann, runId, delivery } = openWork();
    await backup();
    const to = join(dir, "other");
    expect((await restore(to)).lost).toEqual({ runs: 1, messages: 1, deliveries: 1 });
    await withStore(to, async (store) => {
      expect(await store.run(runId)).toMatchObject({ state: "ended", outcome: "lost" });
      expect(await store.message(ann, 2)).toMatchObject({ state: "failed" });
      expect((await store.delivery(delivery))?.state).toBe("unconfirmed");
      const waiting = await store.waiting(ann, { limit: 10 });
      expect(waiting).toMatchObject([
        { body: { text: "waits" } },
        { body: { kind: "system", text: expect.stringContaining("- taken") } },
      ]);
    });
    await withStore(home, async (store) => expect((await store.delivery(delivery))?.state).toBe("pending"));
  });

  it("replaces a home only with `replace`, keeps the old one, and refuses while an engine runs", async () => {
    const { ann } = openWork();
    await backup();
    writeFileSync(join(home, "workspace", "later.md"), "later");
    await expect(restore(home)).rejects.toThrow("is not empty");
    await withStore(home, () => expect(restore(home, { replace: true })).rejects.toThrow(/uses/));
    expect(readFileSync(join(home, "workspace", "later.md"), "utf8")).toBe("later");
    const { kept } = await restore(home, { replace: true });
    expect(existsSync(join(home, "workspace", "later.md"))).toBe(false);
    expect(readFileSync(join(kept ?? "", "workspace", "later.md"), "utf8")).toBe("later");
    await withStore(home, async (store) => expect(await store.agent(ann)).toBeDefined());
    expect(existsSync(restoreMarker(home))).toBe(false);
  });

  it("gives no right back that was taken away since: with a newer list of people everyone is a stranger", async () => {
    await withStore(home, async (_store, commit) => {
      const ann = { id: "ann", role: "guest", accounts: [], grants: [], createdAt: AT, createdBy: "owner" } as const;
      await commit({ op: "person.put", person: ann });
    });
    await backup();
    const people = async (at: string) =>
      withStore(at, async (store) => (await store.people({ limit: 10 })).map(({ id }) => id));
    const fresh = join(dir, "other");
    expect((await restore(fresh)).lost.people).toBeUndefined();
    expect(await people(fresh)).toEqual(["ann"]);
    writeFileSync(join(home, "people.json"), JSON.stringify({ version: 1, revision: 99, people: [] }));
    expect((await restore(home, { replace: true })).lost.people).toBe(1);
    expect(await people(home)).toEqual([]);
  });

  it("is completed after a kill between its renames, and no empty home is made before", async () => {
    openWork();
    const paths = homePaths(join(dir, "gone"));
    mkdirSync(`${paths.home}.restoring`);
    writeFileSync(restoreMarker(paths.home), JSON.stringify({ staging: "gone.restoring", kept: "gone.before" }));
    await expect(createHome(paths)).rejects.toThrow("was being restored");
    expect(finishRestore(paths.home)).toBe(true);
    expect(readdirSync(dir).filter((name) => name.startsWith("gone"))).toEqual(["gone"]);
    expect(finishRestore(paths.home)).toBe(false);
  });

  it("refuses an archive that was cut or changed anywhere, and leaves nothing behind", async () => {
    openWork();
    await backup();
    const whole = readFileSync(file);
    const tar = gunzipSync(whole);
    const to = join(dir, "other");
    const expectRefused = async (content: Buffer) => {
      writeFileSync(file, content);
      await expect(restore(to)).rejects.toThrow(/damaged|cannot be (?:used|read)/);
      expect(readdirSync(dir).sort()).toEqual(["backup.tar.gz", "home"]);
    };
    for (const part of [0.1, 0.5, 0.9, 0.999]) await expectRefused(whole.subarray(0, Math.floor(whole.length * part)));
    for (const at of [600, 5_000, tar.length - 3_000]) {
      const changed = Buffer.from(tar);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expectRefused(gzipSync(changed));
    }
    await expectRefused(Buffer.from("not an archive"));
  });

  it.each([
    ["../escape", "it has the name"],
    ["/etc/cron.d/x", "it has the name"],
    ["a/../../x", "it has the name"],
    ["link/passwd", "leads through a link"],
  ])("refuses an archive with the name %s", async (path, reason) => {
    const chunks: Buffer[] = [];
    const tar = new TarWriter(async (chunk) => void chunks.push(chunk));
    const header = { mode: 0o777, modifiedAt: 0 };
    await tar.link({ ...header, path: "link" }, "/etc");
    const content = Buffer.from("evil");
    await tar.file(
      { ...header, path },
      content.length,
      (async function* () {
        yield content;
      })(),
    );
    await tar.file({ ...header, path: MANIFEST }, 0, (async function* () {})());
    await tar.end();
    writeFileSync(file, gzipSync(Buffer.concat(chunks)));
    await expect(restore(join(dir, "other"))).rejects.toThrow(reason);
    expect(readdirSync(dir).sort()).toEqual(["backup.tar.gz", "home"]);
  });

  it("refuses a backup of a newer program", async () => {
    openWork();
    await backup();
    const to = join(dir, "x");
    mkdirSync(to);
    const { manifest } = await readBackup(file, { into: to });
    expect(manifest.schema).toBeGreaterThan(0);
    appendFileSync(join(home, "rookery.json5"), "{}");
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(home, "rookery.db"));
    db.exec("PRAGMA user_version = 99");
    db.close();
    const newer = join(dir, "newer.tar.gz");
    await expect(createBackup({ paths: homePaths(home), config, env: {}, file: newer })).rejects.toThrow(
      /schema version 99/,
    );
  });
});
