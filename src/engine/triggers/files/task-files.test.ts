import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cronTaskFiles, heartbeatTaskFiles } from "../../../adapters/workspace/task-files.ts";
import type { ChangeId } from "../../../core/ids.ts";
import { silentLog } from "../../../core/ports/log.ts";
import { TriggerTestEngine } from "../triggers.test-kit.ts";
import { readFrontMatter } from "./front-matter.ts";
import { syncTaskFiles } from "./sync-task-files.ts";
import { readCronTask, readHeartbeatTask } from "./task-file.ts";

const ID = "tz4a98xxat96iws9zmbrgj3a";
const task = (more = "", body = "Look at the mail.") =>
  `---\nname: Mail\nschedule: "*/5 * * * *"\ntaskId: ${ID}\n${more}---\n\n${body}\n`;

describe("the front matter of a file", () => {
  test("has strings, numbers, booleans, lists and one nested level", () => {
    const { fields, body, unread } = readFrontMatter(
      "---\na: word # why\nb: 3\nc: yes\nd: 'quoted: #'\ne:\n  x: 1\n  y: \"*/5 * * * *\"\nf:\n  - one\n  - two\n???\n---\nbody\n---\nmore",
    );
    expect(fields).toEqual({
      a: "word",
      b: 3,
      c: true,
      d: "quoted: #",
      e: { x: 1, y: "*/5 * * * *" },
      f: ["one", "two"],
    });
    expect(body).toBe("body\n---\nmore");
    expect(unread).toEqual(["???"]);
  });
  test.each([
    ['a: "x # y"', "x # y"],
    ['a: "x" # a comment', "x"],
    ["a: 'it''s' #", "it''s"],
    ['a: "x"y', '"x"y'],
    ['a: "x" "y"', 'x" "y'],
    ["a: x # a comment", "x"],
    ["a: x#y", "x#y"],
    ['a: "', '"'],
    ["a: ON", true],
    ["a: no", false],
    ["a: -1.5", -1.5],
    ["a: 1.", "1."],
  ])("%s", (line, wanted) => {
    expect(readFrontMatter(`---\n${line}\n---\n`).fields).toEqual({ a: wanted });
  });

  test("is empty without both fences", () => {
    expect(readFrontMatter("hello")).toEqual({ fields: {}, body: "hello", unread: [] });
    expect(readFrontMatter("---\na: 1").fields).toEqual({});
  });
  test("of any text never throws and never reaches a prototype", () => {
    fc.assert(fc.property(fc.string(), (text) => typeof readFrontMatter(`---\n${text}\n---\n`).body === "string"));
    expect(readFrontMatter("---\n__proto__:\n  x: 1\n---\n").fields.x).toBeUndefined();
  });
});

describe("a task's file", () => {
  test("is a job with all its fields", () => {
    const read = readCronTask(
      task(
        "description: d\nenabled: false\none_off: true\nagent_id: abc\ngate:\n  command: test -s inbox\n  timeoutMs: 500\n",
      ),
    );
    expect(read).toMatchObject({
      taskId: ID,
      targetAgentId: "abc",
      create: {
        name: "Mail",
        enabled: false,
        deleteAfterRun: true,
        gate: { kind: "command", command: "test -s inbox", timeoutMs: 500 },
        payload: { message: "Look at the mail." },
      },
    });
  });
  test.each([
    [task().replace("name: Mail\n", ""), "The task has no name."],
    [task().replace(/schedule.*\n/u, ""), "The task has no schedule."],
    [task().replace(/taskId.*\n/u, ""), "The task has no taskId"],
    [task().replace(ID, "../../etc"), "The task has no taskId"],
    [task("", ""), "The task has no prompt"],
    [task("gate:\n  timeoutMs: 5\n"), "gate is not valid"],
  ])("that is invalid gives the reason (%#)", (text, message) => {
    expect(() => readCronTask(text)).toThrow(message);
  });
  test("of the heartbeat takes its title from the field, the heading or the file name", () => {
    expect(readHeartbeatTask("a", "---\ntitle: T\n---\n# H\nlook")).toMatchObject({ title: "T", prompt: "# H\nlook" });
    expect(readHeartbeatTask("a", "---\nname: N\n---\nlook")?.title).toBe("N");
    expect(readHeartbeatTask("a", "# H\nlook")?.title).toBe("H");
    expect(readHeartbeatTask("a", "look")?.title).toBe("a");
    expect(readHeartbeatTask("a", "---\ntitle: T\n---\n")).toBeUndefined();
  });
});

describe("files and jobs", () => {
  const path = "cron/mail/TASK.md";
  async function world() {
    const engine = await TriggerTestEngine.open();
    const { ids } = engine.engine.ports({ alive: true, name: "files" });
    const sync = (...texts: string[]) =>
      syncTaskFiles(
        { store: engine.store, clock: engine.clock, ids, log: silentLog, zone: "UTC" },
        "main",
        texts.map((text, n) => ({ path: n === 0 ? path : `cron/mail-${n + 1}/TASK.md`, text })),
      );
    return { engine, sync };
  }

  test("a new file adds a job, an unchanged one changes nothing, a changed one edits it, a removed one removes it", async () => {
    const { engine, sync } = await world();
    expect(await sync(task())).toEqual([]);
    expect(await engine.job(ID)).toMatchObject({ version: 1, file: path, enabled: true, sessionTarget: "isolated" });
    await sync(task());
    expect((await engine.job(ID)).version).toBe(1);
    await sync(task("", "Look twice."));
    expect(await engine.job(ID)).toMatchObject({ version: 2, revision: 1, payload: { message: "Look twice." } });
    await sync(task("").replace("*/5", "*/7"));
    expect(await engine.job(ID)).toMatchObject({ revision: 2, schedule: { expr: "*/7 * * * *" } });
    await sync();
    expect(await engine.store.job(ID)).toBeUndefined();
  });

  test("an invalid file keeps its job, and two files cannot share an id", async () => {
    const { engine, sync } = await world();
    await sync(task());
    expect(await sync("---\nname:")).toMatchObject([{ path, reason: "The task has no name." }]);
    expect(await engine.store.job(ID)).toBeDefined();
    expect(await sync(task(), task())).toMatchObject([{ path: "cron/mail-2/TASK.md" }]);
    const { id } = await engine.cron.add({ name: "own", schedule: "0 9 * * *", payload: { message: "x" } });
    await sync(task());
    expect(await engine.store.job(id)).toBeDefined();
  });

  test("an option that is removed from the file is removed from the job", async () => {
    const { engine, sync } = await world();
    const agent = "tz4a98xxat96iws9zmbrgj3b";
    await sync(task(`description: d\nagent_id: ${agent}\ngate:\n  command: test -s inbox\n`));
    expect(await engine.job(ID)).toMatchObject({ description: "d", targetAgentId: agent, gate: { kind: "command" } });
    await sync(task());
    const { description, targetAgentId, gate } = await engine.job(ID);
    expect([description, targetAgentId, gate]).toEqual([undefined, undefined, undefined]);
  });

  test("an edit keeps the notes of the job's agent", async () => {
    const { engine, sync } = await world();
    await sync(task());
    const job = await engine.job(ID);
    const put = { op: "job.put", job: { ...job, memory: "seen 3" }, expect: 1 } as const;
    await engine.store.commit({ id: "test-change" as ChangeId, site: "test", at: 1, ops: [put] });
    await sync(task("description: d\n"));
    expect(await engine.job(ID)).toMatchObject({ description: "d", memory: "seen 3" });
  });

  test("a changed taskId replaces the job of the file", async () => {
    const { engine, sync } = await world();
    await sync(task());
    const other = "tz4a98xxat96iws9zmbrgj3c";
    await sync(task().replace(ID, other));
    expect(await engine.store.job(ID)).toBeUndefined();
    expect(await engine.store.job(other)).toMatchObject({ file: path });
  });

  test("a one-time task stays done while its file exists", async () => {
    const { engine, sync } = await world();
    await sync(task("once: true\n"));
    await engine.leap(5 * 60_000);
    expect(await engine.job(ID)).toMatchObject({ enabled: false, state: { lastStatus: "ok" } });
    await sync(task("once: true\n"));
    expect(await engine.job(ID)).toMatchObject({ enabled: false });
  });
});

describe("a workspace", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "rookery-tasks-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  test("returns regular files in their place, and nothing behind a link", async () => {
    mkdirSync(join(home, "cron/mail"), { recursive: true });
    mkdirSync(join(home, "cron/empty"));
    writeFileSync(join(home, "cron/mail/TASK.md"), task());
    writeFileSync(join(home, "secret.md"), task());
    mkdirSync(join(home, "cron/linked"));
    symlinkSync(join(home, "secret.md"), join(home, "cron/linked/TASK.md"));
    symlinkSync(join(home, "cron/mail"), join(home, "cron/twice"));
    expect((await cronTaskFiles(home)).map(({ path }) => path)).toEqual(["cron/mail/TASK.md"]);
    mkdirSync(join(home, "heartbeat"));
    writeFileSync(join(home, "heartbeat/disk.md"), "# Disk\nlook");
    writeFileSync(join(home, "heartbeat/bad.md"), "---\ngate:\n  timeoutMs: 1\n---\nlook");
    symlinkSync(join(home, "secret.md"), join(home, "heartbeat/link.md"));
    expect(await heartbeatTaskFiles(home, silentLog)).toEqual([{ id: "disk", title: "Disk", prompt: "# Disk\nlook" }]);
    expect(await cronTaskFiles(join(home, "nowhere"))).toEqual([]);
  });
});
