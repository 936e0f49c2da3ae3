/** The embedded store of a home: what it finds there, what it says about it, and in which order it begins and ends. */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { homePaths } from "../../config/paths.ts";
import { StoreLostError, StoreUnreadableError } from "../../core/errors.ts";
import type { ChangeId } from "../../core/ids.ts";
import type { Log, LogLevel } from "../../core/ports/log.ts";
import { systemIds } from "../system/system-ids.ts";
import { diskFiles } from "./files/disk-files.ts";
import type { startMirror } from "./files/start-mirror.ts";
import { Workload } from "./files/workload.test-kit.ts";
import { openEmbeddedStore } from "./open-embedded-store.ts";
import { openDatabase } from "./sqlite/database.ts";
import { isHomeLocked } from "./sqlite/home-lock.ts";

let home: string;
let logged: [LogLevel, string][];
/** The options and messages of the plain-files thread. */
let said: unknown[];
let stop: () => Promise<void>;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-embedded-"));
  logged = [];
  said = [];
  stop = async () => void said.push(["stop", isHomeLocked(home)]);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const logs = (level: LogLevel) => (message: string) => void logged.push([level, message]);
const log: Log = { debug: logs("debug"), info: logs("info"), warn: logs("warn"), error: logs("error") };
const start: typeof startMirror = ({ beginAfterMs, databasePath, identity }) => {
  said.push(["start", beginAfterMs, databasePath, Object.keys(identity ?? {}).length]);
  return {
    nudge: () => void said.push("nudge"),
    flush: async () => {},
    stop: () => stop(),
    lag: () => ({ behind: 0, ms: 0 }),
  };
};
const open = (more: { readonly stays?: boolean; readonly onCommitted?: () => void } = {}) =>
  openEmbeddedStore(
    {
      ...{ paths: homePaths(home), synchronous: "normal", ids: systemIds(), now: 1_800_000_000_000, log },
      ...{ onFatal: (error) => expect.unreachable(String(error)), ...more },
    },
    start,
  );
let made = 0;
const put = (value: string) =>
  ({
    ...{ id: `c${made++}` as ChangeId, site: "test", at: 1 },
    ops: [{ op: "fact.put", key: "k", value }],
  }) as const;
const database = (): string => join(home, "rookery.db");

test.each([
  [undefined, 1_000],
  [false, 1_000],
  [true, 300],
])("starts the plain files after the engine, in a process that stays: %s", async (stays, delay) => {
  let commits = 0;
  const opened = await open({ stays, onCommitted: () => commits++ });
  const started = ["start", delay, database(), 4];
  expect([opened.rebuilt, opened.lost, said]).toEqual([undefined, undefined, [started, "nudge"]]);
  await opened.store.commit(put("v"));
  expect([commits, said.slice(2)]).toEqual([1, ["nudge"]]);
  await opened.close();
  // The files are completed while the home is still this process's own.
  expect(said.slice(3)).toEqual([["stop", true]]);
  expect([isHomeLocked(home), logged]).toEqual([false, []]);
});

test("plain files that cannot be completed are reported, and the store closes all the same", async () => {
  const opened = await open();
  stop = async () => {
    throw new Error("no room");
  };
  await opened.close();
  expect(logged).toEqual([["error", "could not complete the plain files"]]);
  expect(isHomeLocked(home)).toBe(false);
});

test("a database that cannot be read is refused and left alone, and the home is free again", async () => {
  writeFileSync(database(), "This is a text. ".repeat(1_000));
  await expect(open()).rejects.toThrow(StoreUnreadableError);
  expect([isHomeLocked(home), said]).toEqual([false, []]);
  expect(readdirSync(home)).toContain("rookery.db");
});

test("agents without a database are rebuilt, and the log says so", async () => {
  const id = "ann".padEnd(24, "0");
  const db = openDatabase(database());
  const seed = new Workload(db).seed("ann");
  db.close();
  for (const name of readdirSync(home)) rmSync(join(home, name));
  const files = diskFiles(home);
  files.makeDir(`agents/${id}`);
  files.replace(`agents/${id}/descriptor.json`, JSON.stringify(seed.descriptor));
  files.replace(`agents/${id}/history.jsonl`, `${seed.lines.join("\n")}\n`);
  const opened = await open();
  expect(opened.rebuilt).toMatchObject({ agents: 1 });
  expect((await opened.store.agents({ limit: 9 })).map((one) => one.id)).toEqual([id]);
  expect(logged[0]).toEqual(["info", "rebuilt the database from the plain files"]);
  await opened.close();
  logged = [];
  const again = await open();
  expect([again.rebuilt, again.lost, logged]).toEqual([undefined, undefined, []]);
  await again.close();
});

test("a restored backup has its open work ended", async () => {
  await (await open()).close();
  const mark = { version: 1, synced: 5_000, change: "later", at: 1, clean: true };
  writeFileSync(join(home, "mirror.json"), JSON.stringify(mark));
  const opened = await open();
  expect(opened.lost).toEqual({ runs: 0, messages: 0, deliveries: 0 });
  await opened.close();
});

test("a home whose files go away and come back is named twice in the log", async () => {
  const opened = await open();
  renameSync(database(), `${database()}.away`);
  await expect(opened.store.commit(put("lost"))).rejects.toThrow(StoreLostError);
  await expect(opened.store.commit(put("lost"))).rejects.toThrow(StoreLostError);
  expect(logged.map(([level]) => level)).toEqual(["error"]);
  expect(logged[0]?.[1]).toContain("was deleted or moved away");
  renameSync(`${database()}.away`, database());
  await opened.store.commit(put("kept"));
  expect(logged.slice(1)).toEqual([["info", "The files of the home are back; work continues."]]);
  await opened.close();
});
