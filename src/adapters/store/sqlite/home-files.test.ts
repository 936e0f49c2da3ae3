import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CommitUnknownError, StoreLostError } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { Change } from "../../../core/store/change.ts";
import { openDatabase } from "./database.ts";
import { groupCommit } from "./group-commit.ts";
import { homeFiles, identifyHome } from "./home-files.ts";
import { openSqliteStore } from "./open-store.ts";

let room: string;
let home: string;
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), "rookery-files-"));
  home = join(room, "home");
  mkdirSync(home);
});
afterEach(() => rmSync(room, { recursive: true, force: true }));

const put = (key: string): Change => ({
  id: `change ${key}` as ChangeId,
  site: "test",
  at: 1,
  ops: [{ op: "fact.put", key, value: "v" }],
});

test("a file that is removed within one tick of the file system's clock is noticed", () => {
  for (const name of ["rookery.db", "rookery.db-wal", "rookery.lock"]) writeFileSync(join(home, name), "x");
  const files = homeFiles(home, identifyHome(home));
  for (let n = 0; n < 500; n++) {
    expect(files.lost()).toBeUndefined();
    renameSync(join(home, "rookery.db"), join(home, "aside"));
    expect(files.lost()).toBeInstanceOf(StoreLostError);
    renameSync(join(home, "aside"), join(home, "rookery.db"));
    // A directory whose times a tool sets back looks as old as at the last look.
    utimesSync(home, 0, 0);
  }
});

test("a home that was replaced is lost, even if the new one has the same files", () => {
  const names = ["rookery.db", "rookery.db-wal", "rookery.lock"];
  for (const name of names) writeFileSync(join(home, name), "x");
  const files = homeFiles(home, identifyHome(home));
  renameSync(home, join(room, "away"));
  mkdirSync(home);
  for (const name of names) linkSync(join(room, "away", name), join(home, name));
  expect(files.lost()?.message).toContain("The home was replaced");
});

test.each(["rookery.db", "rookery.db-wal", "rookery.lock"])(
  "%s is missed by its name, and noticed if it is another",
  (name) => {
    for (const one of ["rookery.db", "rookery.db-wal", "rookery.lock"]) writeFileSync(join(home, one), "x");
    const files = homeFiles(home, identifyHome(home));
    expect(files.lost()).toBeUndefined();
    renameSync(join(home, name), join(room, "aside"));
    expect(files.lost()?.message).toContain(`The file ${name} of the home was deleted or moved away`);
    writeFileSync(join(home, name), "x");
    expect(files.lost()?.message).toContain(`The file ${name} of the home was replaced`);
    renameSync(join(room, "aside"), join(home, name));
    expect(files.lost()).toBeUndefined();
  },
);

test("a loss that becomes another is described anew and not reported again", () => {
  for (const name of ["rookery.db", "rookery.db-wal", "rookery.lock"]) writeFileSync(join(home, name), "x");
  const reports: string[] = [];
  const files = homeFiles(home, identifyHome(home), { onLost: ({ message }) => reports.push(message) });
  renameSync(join(home, "rookery.db"), join(room, "aside"));
  const first = files.lost();
  expect(first?.message).toContain("The file rookery.db of the home was deleted");
  expect(files.lost()).toBe(first);
  renameSync(home, join(room, "away"));
  expect(files.lost()?.message).toContain("The home was deleted");
  expect(reports).toHaveLength(1);
});

test("the loss and the return are each reported once", () => {
  for (const name of ["rookery.db", "rookery.db-wal", "rookery.lock"]) writeFileSync(join(home, name), "x");
  const reports: string[] = [];
  const files = homeFiles(home, identifyHome(home), {
    onLost: ({ message }) => reports.push(message),
    onFound: () => reports.push("found"),
  });
  renameSync(home, join(room, "away"));
  for (let n = 0; n < 3; n++) expect(files.lost()).toBeDefined();
  renameSync(join(room, "away"), home);
  for (let n = 0; n < 3; n++) expect(files.lost()).toBeUndefined();
  expect(reports).toEqual([expect.stringContaining("The home was deleted or moved away"), "found"]);
});

test("a store whose home is gone refuses commits and outcomes, still reads, and continues when it is back", async () => {
  const store = openSqliteStore({ home });
  await store.commit(put("before"));
  await expect(store.ready()).resolves.toBeUndefined();
  renameSync(home, join(room, "away"));
  await expect(store.commit(put("lost"))).rejects.toThrow(StoreLostError);
  await expect(store.outcome("change before" as ChangeId)).rejects.toThrow(StoreLostError);
  await expect(store.ready()).rejects.toThrow(StoreLostError);
  expect(await store.fact("before")).toBe("v");
  renameSync(join(room, "away"), home);
  expect(await store.commit(put("after"))).toMatchObject({ ok: true });
  expect(await store.fact("lost")).toBeUndefined();
  await store.close();
});

test("files that are lost between a commit and its answer leave the outcome unknown", async () => {
  const db = openDatabase(join(home, "rookery.db"));
  const lost = new StoreLostError("lost");
  let looks = 0;
  const group = groupCommit(db, {
    lost: () => (looks++ === 0 ? undefined : lost),
    onFatal: (error) => expect.unreachable(String(error)),
  });
  await expect(group.commit(put("k"))).rejects.toThrow(CommitUnknownError);
  expect(looks).toBe(2);
  db.close();
});
