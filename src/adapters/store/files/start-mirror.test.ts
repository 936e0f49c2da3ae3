import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../../core/ports/log.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { diskFiles } from "./disk-files.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { startMirror } from "./start-mirror.ts";
import { lifeOf, Workload } from "./workload.test-kit.ts";

let home: string;
let db: Database;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-mirror-"));
  db = openDatabase(join(home, "rookery.db"));
});
afterEach(() => {
  db.close();
  rmSync(home, { recursive: true, force: true });
});

const start = () => startMirror({ home, databasePath: join(home, "rookery.db"), log: silentLog });

describe("the mirror's thread", () => {
  test("has written everything to the disk when flush or stop resolves", async () => {
    const mirror = start();
    const life = lifeOf(new Workload(db));
    for (const act of life.slice(0, 8)) act();
    mirror.nudge();
    await mirror.flush();
    expectFilesMatch(db, diskFiles(home));
    for (const act of life.slice(8)) act();
    await mirror.stop();
    expectFilesMatch(db, diskFiles(home));
    expect(JSON.parse(readFileSync(join(home, "mirror.json"), "utf8"))).toMatchObject({ clean: true });
    expect(mirror.lag().behind).toBe(0);
  });

  test("can start later than the engine, but starts at once for a flush", async () => {
    const mirror = startMirror({
      ...{ home, databasePath: join(home, "rookery.db"), log: silentLog },
      beginAfterMs: 3_600_000,
    });
    for (const act of lifeOf(new Workload(db)).slice(0, 8)) act();
    mirror.nudge();
    await mirror.flush();
    expectFilesMatch(db, diskFiles(home));
    await mirror.stop();
  });

  test("completes the files without a thread if none has started yet", async () => {
    let threads = 0;
    const options = { home, databasePath: join(home, "rookery.db"), log: silentLog, beginAfterMs: 3_600_000 };
    const mirror = startMirror(options, () => {
      threads += 1;
      throw new Error("no thread is needed");
    });
    for (const act of lifeOf(new Workload(db))) act();
    mirror.nudge();
    await mirror.stop();
    expectFilesMatch(db, diskFiles(home));
    expect(JSON.parse(readFileSync(join(home, "mirror.json"), "utf8"))).toMatchObject({ clean: true });
    expect(threads).toBe(0);
  });

  test("writes files and directories only their owner can read", async () => {
    const mirror = start();
    for (const act of lifeOf(new Workload(db))) act();
    await mirror.stop();
    const agent = join(home, "agents", "ann".padEnd(24, "0"));
    for (const name of ["descriptor.json", "state.json", "history.jsonl", "pending.json"]) {
      expect(statSync(join(agent, name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(agent).mode & 0o777).toBe(0o700);
  });

  test("writes the files after a nudge, without a flush", async () => {
    const mirror = start();
    new Workload(db).agent("ann");
    mirror.nudge();
    const descriptor = join(home, "agents", "ann".padEnd(24, "0"), "pending.json");
    await expect.poll(() => statSync(descriptor, { throwIfNoEntry: false }) !== undefined).toBe(true);
    await mirror.stop();
  });

  test("ends at rest with complete files, and starts again with the next commit", async () => {
    const mirror = startMirror({
      ...{ home, databasePath: join(home, "rookery.db"), log: silentLog },
      restAfterMs: 1,
    });
    const isClean = (): unknown => {
      const mark = statSync(join(home, "mirror.json"), { throwIfNoEntry: false });
      return mark && JSON.parse(readFileSync(join(home, "mirror.json"), "utf8")).clean;
    };
    for (const act of lifeOf(new Workload(db))) {
      act();
      mirror.nudge();
      // Commits come while it works, while it ends and while it rests.
      await new Promise(setImmediate);
    }
    await expect.poll(isClean).toBe(true);
    expectFilesMatch(db, diskFiles(home));
    new Workload(db).agent("late");
    mirror.nudge();
    const late = join(home, "agents", "late".padEnd(24, "0"), "pending.json");
    await expect.poll(() => statSync(late, { throwIfNoEntry: false }) !== undefined && isClean()).toBe(true);
    expectFilesMatch(db, diskFiles(home));
    await mirror.flush();
    await mirror.stop();
  });

  test("reports that the files cannot be written, and writes them when they can be", async () => {
    const inTheWay = join(home, "agents");
    writeFileSync(inTheWay, "a file where a directory must be");
    new Workload(db).agent("ann");
    const mirror = start();
    await expect(mirror.flush()).rejects.toThrow("could not be written");
    rmSync(inTheWay);
    await mirror.flush();
    expectFilesMatch(db, diskFiles(home));
    await mirror.stop();
  });

  test("a stop that cannot write the files rejects and still ends the thread", async () => {
    writeFileSync(join(home, "agents"), "a file where a directory must be");
    new Workload(db).agent("ann");
    await expect(start().stop()).rejects.toThrow("could not be written");
  });
});
