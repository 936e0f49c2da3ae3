/** The plain files of a shared database are those of a home that had the same changes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { diskFiles } from "../../src/adapters/store/files/disk-files.ts";
import { followShared } from "../../src/adapters/store/files/follow-shared.ts";
import { openMirror } from "../../src/adapters/store/files/mirror.ts";
import { sqliteSource } from "../../src/adapters/store/files/sqlite-source.ts";
import { openPostgresStore, type PostgresStore } from "../../src/adapters/store/postgres/open-store.ts";
import { openDatabase } from "../../src/adapters/store/sqlite/database.ts";
import { openSqliteStore } from "../../src/adapters/store/sqlite/open-store.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import { budgets, conversations, person, questions, registries, storedFile } from "../contract/every-record.ts";
import { idOf, type World, worldOn } from "../contract/fixture.ts";
import { freshDatabase } from "./shared.ts";

let root: string;
let store: PostgresStore;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  store = await openPostgresStore({ url: await freshDatabase(), leaseClock: "changes" });
});
afterEach(async () => {
  await store.close();
  rmSync(root, { recursive: true });
});

/** What changes after a first look at the files. */
async function later(world: World): Promise<void> {
  const ann = (await world.store.agent(idOf("ann")))?.epoch ?? 0;
  const owner = { agentId: idOf("ann"), node: world.node, epoch: ann };
  await world.done([
    { op: "person.remove", id: "bob" },
    { op: "person.put", person: person("carl") },
  ]);
  await world.done([{ op: "subagent.remove", runId: "s1" }]);
  await world.done([{ op: "budget.charge", key: "day:x", spent: { tokens: 3, micros: 4 } }]);
  await world.done([{ op: "swarm.remove", nametag: "desk" }]);
  await world.done([
    { op: "file.stage", blobs: ["blob-file_2", "text-file_2"], until: 9e15 },
    { op: "file.put", file: storedFile("file_2"), quota: 1_000 },
  ]);
  await world.done([{ op: "job.remove", id: "j" }]);
  await world.done([{ op: "session.begin", sessionId: "00000000-0000-4000-8000-000000000009" as SessionId }], owner);
  await world.post(idOf("bob"));
}

/** The mirror of a home follows its log of changes; this compares with what it writes at the end. */
async function expected(home: string, change: (world: World) => Promise<void>): Promise<void> {
  const embedded = openSqliteStore({ home });
  await change(await worldOn(embedded));
  await embedded.close();
  const db = openDatabase(join(home, "rookery.db"));
  const mirror = openMirror({ source: sqliteSource(db.sql), files: diskFiles(home), now: () => 0 });
  while (mirror.step().more);
  db.close();
}

/** Keys of stored JSON have no order. */
const read = (home: string, path: string): unknown => {
  const text = readFileSync(join(home, path), "utf8");
  return path.endsWith(".json") ? JSON.parse(text) : text;
};
const REGISTRIES = ["subagents/runs.json", "cron/jobs.json", "budgets.json", "people.json", "files.json"];

function expectSame(home: string, other: string): void {
  const agents = diskFiles(home).list("agents");
  expect(diskFiles(other).list("agents")).toEqual(agents);
  const files = ["descriptor.json", "state.json", "history.jsonl", "pending.json"];
  for (const path of [...REGISTRIES, ...agents.flatMap((id) => files.map((name) => `agents/${id}/${name}`))])
    expect(read(other, path), path).toEqual(read(home, path));
}

test("after the first look and after each later one", async () => {
  const [followed, first, last] = ["followed", "first", "last"].map((name) => mkdtempSync(join(root, name))) as [
    string,
    string,
    string,
  ];
  const all = async (world: World): Promise<void> => {
    await conversations(world);
    await questions(world);
    await registries(world);
    await budgets(world);
  };
  const world = await worldOn(store);
  const mirror = await followShared({ home: followed, store, log: silentLog, everyMs: 3_600_000 });
  await mirror.flush();
  for (const path of ["budgets.json", "people.json", "files.json", "swarms/swarms.json"])
    expect(existsSync(join(followed, path)), `${path} of an empty store`).toBe(false);
  await all(world);
  await mirror.flush();
  await expected(first, all);
  expectSame(first, followed);
  expect(read(followed, "swarms/swarms.json")).toEqual(read(first, "swarms/swarms.json"));
  await later(world);
  await mirror.flush();
  await expected(last, async (other) => {
    await all(other);
    await later(other);
  });
  expectSame(last, followed);
  expect(read(followed, "swarms/swarms.json")).toEqual({ version: 1, swarms: [] });
  await mirror.stop();
  // A node that begins with an empty home writes the same at once.
  const fresh = mkdtempSync(join(root, "fresh"));
  const again = await followShared({ home: fresh, store, log: silentLog, everyMs: 3_600_000 });
  await again.stop();
  expectSame(last, fresh);
});

test("writes by itself, goes on after a failure, says so once it fails, and writes the rest when it stops", async () => {
  const home = mkdtempSync(join(root, "own"));
  const said: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void said.push(text) };
  const world = await worldOn(store);
  const mirror = await followShared({ home, store, log, everyMs: 10 });
  await world.agent("ann");
  const pending = join(home, "agents", idOf("ann"), "pending.json");
  await expect.poll(() => existsSync(pending)).toBe(true);
  rmSync(join(home, "agents"), { recursive: true });
  diskFiles(home).replace("agents", "a file where a directory must be");
  await world.post(idOf("ann"));
  await expect.poll(() => said.length).toBeGreaterThan(0);
  expect(said[0]).toContain("trying again");
  rmSync(join(home, "agents"));
  await expect.poll(() => existsSync(pending)).toBe(true);
  await world.post(idOf("ann"));
  await mirror.stop();
  expect(JSON.parse(readFileSync(pending, "utf8"))).toMatchObject({ nextSeq: 3 });
});
