/** When the mirror's thread works, flushes, tries again and stops, with a clock of the test. */
import { EventEmitter } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StoreLostError } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { ThreadAnswer } from "../../system/thread.ts";
import { type Database, openDatabase } from "../sqlite/database.ts";
import { identifyHome } from "../sqlite/home-files.ts";
import { diskFiles } from "./disk-files.ts";
import { expectFilesMatch } from "./matches-database.test-kit.ts";
import { type MirrorNote, MirrorWorker, type ToWorker, type WorkerData } from "./mirror-worker.ts";
import { Workload } from "./workload.test-kit.ts";

type FromWorker = MirrorNote | ThreadAnswer;

const ann = "ann".padEnd(24, "0") as AgentId;
let room: string;
let home: string;
let db: Database;
let work: Workload;
let ports: FakePort[];
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), "rookery-worker-"));
  home = join(room, "home");
  mkdirSync(home);
  writeFileSync(join(home, "rookery.lock"), "");
  db = openDatabase(join(home, "rookery.db"), { synchronous: "off" });
  work = new Workload(db);
  ports = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate"] });
});
afterEach(() => {
  for (const port of ports) if (!port.isClosed) port.ask({ type: "stop", id: 0 });
  vi.useRealTimers();
  db.close();
  rmSync(room, { recursive: true });
});

class FakePort extends EventEmitter {
  readonly said: FromWorker[] = [];
  isClosed = false;
  /** The mark on the disk when each question was answered. */
  readonly marks: unknown[] = [];
  postMessage(message: FromWorker): void {
    this.said.push(message);
    if (message.type === "done" && !message.error) this.marks.push(mark());
  }
  close(): void {
    this.isClosed = true;
  }
  ask(message: ToWorker): FromWorker | undefined {
    const before = this.count("done");
    this.emit("message", message);
    expect(this.count("done") - before, "answers").toBe(message.type === "nudge" ? 0 : 1);
    return this.said.findLast(({ type }) => type === "done");
  }
  count(type: FromWorker["type"]): number {
    return this.said.filter((message) => message.type === type).length;
  }
}

function started(rest: Partial<WorkerData> = {}): FakePort {
  const port = new FakePort();
  ports.push(port);
  const data = { home, databasePath: join(home, "rookery.db"), syncAfterMs: 5_000, identity: undefined, ...rest };
  new MirrorWorker(port as never, data).work();
  return port;
}
const mark = () => JSON.parse(readFileSync(join(home, "mirror.json"), "utf8"));
const agentsAreInTheWay = () => writeFileSync(join(home, "agents"), "a file where a directory must be");
const last = (): number => Number(db.sql.prepare("SELECT max(n) AS n FROM changes").get()?.n);

describe("the mirror's worker", () => {
  test("writes what is there when it starts, says how far it is, and then does nothing", () => {
    work.agent("ann");
    const port = started();
    vi.runAllTicks();
    expectFilesMatch(db, diskFiles(home));
    expect(port.said).toEqual([{ type: "lag", lag: { behind: 0, ms: 0 }, tookMs: expect.any(Number) }]);
    vi.advanceTimersByTime(5_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(port.said).toHaveLength(1);
    port.ask({ type: "nudge" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("writes more after a nudge, and flushes once, some seconds after the first write", () => {
    const port = started();
    vi.advanceTimersByTime(5_000);
    work.agent("ann");
    port.ask({ type: "nudge" });
    vi.advanceTimersByTime(4_999);
    expect(mark().synced).toBeLessThan(last());
    work.post(ann, "hello");
    port.ask({ type: "nudge" });
    expectFilesMatch(db, diskFiles(home));
    expect(mark().synced).toBeLessThan(last());
    vi.advanceTimersByTime(1);
    expect(mark()).toMatchObject({ synced: last(), clean: false });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("has flushed everything when it answers a flush, and needs no timer any more", () => {
    work.agent("ann");
    const port = started();
    work.post(ann, "hello");
    expect(port.ask({ type: "flush", id: 7 })).toEqual({ type: "done", id: 7 });
    expectFilesMatch(db, diskFiles(home));
    expect(port.marks).toMatchObject([{ synced: last(), clean: false }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("has flushed everything when it answers a stop, with a clean mark, and ends", () => {
    work.agent("ann");
    const port = started();
    work.post(ann, "hello");
    expect(port.ask({ type: "stop", id: 8 })).toEqual({ type: "done", id: 8 });
    expect(port.marks).toMatchObject([{ synced: last(), clean: true }]);
    expect(port.isClosed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("compares many agents in portions, with a pause after each", () => {
    for (let n = 0; n < 201; n++) work.agent(`n${n}x`);
    const port = started();
    expect(diskFiles(home).list("agents")).toHaveLength(200);
    expect(port.count("lag")).toBe(1);
    vi.runOnlyPendingTimers();
    expect(diskFiles(home).list("agents")).toHaveLength(201);
    expect(port.count("lag")).toBe(2);
  });

  test("does nothing more after a stop between two portions", () => {
    for (let n = 0; n < 201; n++) work.agent(`n${n}x`);
    const port = started();
    port.ask({ type: "stop", id: 9 });
    const said = port.said.length;
    vi.runOnlyPendingTimers();
    expect(port.said).toHaveLength(said);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    [40, 40],
    [0.2, 1],
  ])("pauses after a portion of %d ms for %d ms, so that the engine has half of the time", (tookMs, pauseMs) => {
    for (let n = 0; n < 201; n++) work.agent(`n${n}x`);
    let now = 1_000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => {
      now += tookMs;
      return now;
    });
    const port = started();
    clock.mockRestore();
    expect(port.said).toMatchObject([{ type: "lag", tookMs: expect.closeTo(tookMs) }]);
    vi.advanceTimersByTime(pauseMs - 1);
    expect(port.count("lag")).toBe(1);
    vi.advanceTimersByTime(1);
    expect(port.count("lag")).toBe(2);
  });

  test("takes a nudge between two portions as said: it works only once at a time", () => {
    for (let n = 0; n < 201; n++) work.agent(`n${n}x`);
    const port = started();
    port.ask({ type: "nudge" });
    expect(port.count("lag")).toBe(1);
  });
});

describe("a disk that fails", () => {
  test("is reported and tried again after a second, then after two, up to half a minute", () => {
    work.agent("ann");
    agentsAreInTheWay();
    const port = started();
    expect(port.said.at(-1)).toEqual({ type: "trouble", error: expect.any(String) });
    for (const [index, pause] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
      vi.advanceTimersByTime(pause - 1);
      expect(port.count("trouble"), `before try ${index + 2}`).toBe(index + 1);
      vi.advanceTimersByTime(1);
      expect(port.count("trouble"), `after try ${index + 2}`).toBe(index + 2);
    }
    rmSync(join(home, "agents"));
    vi.advanceTimersByTime(30_000);
    expectFilesMatch(db, diskFiles(home));
    expect(port.said.at(-1)).toMatchObject({ type: "lag", lag: { behind: 0 } });
    // After a success it begins with a second again.
    rmSync(join(home, "agents"), { recursive: true });
    agentsAreInTheWay();
    work.post(ann, "hello");
    port.ask({ type: "nudge" });
    const before = port.count("trouble");
    vi.advanceTimersByTime(1_000);
    expect(port.count("trouble")).toBe(before + 1);
  });

  test("has one timer for the next try, however often it is nudged", () => {
    work.agent("ann");
    agentsAreInTheWay();
    const port = started();
    for (let n = 0; n < 3; n++) port.ask({ type: "nudge" });
    expect(vi.getTimerCount()).toBe(1);
  });

  test("that fails to flush is flushed later", () => {
    const port = started();
    vi.advanceTimersByTime(5_000);
    work.agent("ann");
    port.ask({ type: "nudge" });
    rmSync(join(home, "mirror.json"));
    mkdirSync(join(home, "mirror.json", "in the way"), { recursive: true });
    vi.advanceTimersByTime(5_000);
    expect(port.count("trouble")).toBe(1);
    rmSync(join(home, "mirror.json"), { recursive: true });
    vi.advanceTimersByTime(6_000);
    expect(mark()).toMatchObject({ synced: last() });
  });

  test("fails a flush with its code, and is tried again all the same", () => {
    work.agent("ann");
    agentsAreInTheWay();
    const port = started();
    expect(port.ask({ type: "flush", id: 3 })).toMatchObject({ id: 3, error: { code: "ENOTDIR" } });
    rmSync(join(home, "agents"));
    expect(port.ask({ type: "flush", id: 4 })).toEqual({ type: "done", id: 4 });
  });

  test("fails a stop, which ends the thread all the same", () => {
    work.agent("ann");
    agentsAreInTheWay();
    const port = started();
    expect(port.ask({ type: "stop", id: 3 })).toMatchObject({ id: 3, error: { text: expect.any(String) } });
    expect(port.isClosed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a database that is missing is reported, and none is made in its place", () => {
  const port = started({ databasePath: join(home, "none.db") });
  expect(port.said).toMatchObject([{ type: "trouble" }]);
  expect(existsSync(join(home, "none.db"))).toBe(false);
});

describe("a home that is lost", () => {
  test("gets no files, is not reported as a failing disk, and gets them when it is back", () => {
    const port = started({ identity: identifyHome(home) });
    const away = join(room, "away");
    renameSync(home, away);
    mkdirSync(home);
    db.sql.exec("SELECT 1");
    work.agent("ann");
    port.ask({ type: "nudge" });
    expect(port.ask({ type: "flush", id: 1 })).toMatchObject({ error: { text: expect.stringContaining("replaced") } });
    expect(diskFiles(home).list(".")).toEqual([]);
    expect(port.count("trouble")).toBe(0);
    rmSync(home, { recursive: true });
    renameSync(away, home);
    vi.advanceTimersByTime(1_000);
    expectFilesMatch(db, diskFiles(home));
  });

  test("is not made again if it is moved away in the middle of the work", () => {
    const port = started({ identity: identifyHome(home) });
    const away = join(room, "away");
    renameSync(home, away);
    expect(() => diskFiles(home).makeDir("agents/one")).toThrow(StoreLostError);
    expect(existsSync(home)).toBe(false);
    renameSync(away, home);
    port.ask({ type: "stop", id: 1 });
    renameSync(home, away);
    diskFiles(home).makeDir("agents/one");
    expect(existsSync(home)).toBe(true);
  });
});
