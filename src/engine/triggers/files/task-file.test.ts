/** Each field of a task's file: its names, its forms, and what is refused. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readCronTask, readHeartbeatTask } from "./task-file.ts";

const ID = "tz4a98xxat96iws9zmbrgj3a";
const file = (fields: Readonly<Record<string, string | undefined>>, body = "Look.") => {
  const all = { name: "Mail", schedule: '"0 9 * * *"', taskId: ID, ...fields };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `---\n${lines.join("\n")}\n---\n${body}\n`;
};
const created = (fields: Readonly<Record<string, string | undefined>>) =>
  readCronTask(file(fields)).create as Record<string, unknown>;

test("a file with the least is a job of its own agent", () => {
  const text = file({});
  expect(readCronTask(text)).toStrictEqual({
    taskId: ID,
    targetAgentId: undefined,
    hash: createHash("sha256").update(text).digest("hex"),
    create: {
      name: "Mail",
      schedule: { kind: "cron", expr: "0 9 * * *" },
      payload: { kind: "agentTurn", message: "Look." },
    },
  });
});

describe("a field", () => {
  test.each([
    ["taskId", { taskId: undefined, task_id: ID }, { taskId: ID }],
    ["taskId before task_id", { task_id: "a".repeat(20) }, { taskId: ID }],
    ["agentId", { agentId: "a" }, { targetAgentId: "a" }],
    ["agent_id", { agent_id: "a" }, { targetAgentId: "a" }],
    ["agentId before agent_id", { agentId: "a", agent_id: "b" }, { targetAgentId: "a" }],
    ["agentId as a number", { agentId: "5" }, { targetAgentId: undefined }],
    ["schedule as cron", { schedule: undefined, cron: '"1 9 * * *"' }, { create: { schedule: { expr: "1 9 * * *" } } }],
    ["schedule before cron", { cron: '"1 9 * * *"' }, { create: { schedule: { expr: "0 9 * * *" } } }],
    ["timeZone", { timeZone: "Asia/Tokyo" }, { create: { schedule: { tz: "Asia/Tokyo" } } }],
  ])("%s", (_what, fields, expected) => {
    expect(readCronTask(file(fields))).toMatchObject(expected);
  });

  test("timeZone that is no text is left out", () => {
    expect(created({ timeZone: "5" }).schedule).toEqual({ kind: "cron", expr: "0 9 * * *" });
  });

  test.each(["deleteAfterRun", "delete_after_run", "oneOff", "one_off", "once"])("%s makes it run once", (name) => {
    expect(created({ [name]: "true" }).deleteAfterRun).toBe(true);
    expect(created({ [name]: "false" })).not.toHaveProperty("deleteAfterRun");
    expect(created({ [name]: "maybe" })).not.toHaveProperty("deleteAfterRun");
  });

  test.each([
    ["model", "a/b", "a/b"],
    ["thinking", "high", "high"],
    ["timeoutSeconds", "5", 5],
    ["deliver", "false", false],
    ["channel", "telegram", "telegram"],
    ["to", "'42'", "42"],
  ])("%s is part of the payload", (name, text, value) => {
    expect(created({ [name]: text }).payload).toEqual({ kind: "agentTurn", message: "Look.", [name]: value });
  });

  test.each([
    ["description", "d", "d"],
    ["enabled", "false", false],
    ["missed", "all", "all"],
    ["overlap", "queue", "queue"],
    ["maxLatenessMs", "5", 5],
    ["staggerMs", "0", 0],
    ["wakeMode", "now", "now"],
  ])("%s is part of the job", (name, text, value) => {
    expect(created({ [name]: text })).toMatchObject({ [name]: value });
  });

  test.each([
    ["a command", { gate: "test -s inbox" }, { kind: "command", command: "test -s inbox" }],
    ["a command with more", { gate: "\n  command: x\n  cwd: /" }, { kind: "command", command: "x", cwd: "/" }],
    ["an address", { gate: "\n  url: http://x.org/" }, { kind: "http", url: "http://x.org/" }],
    ["a kind", { gate: "\n  kind: http\n  url: https://x.org/" }, { kind: "http", url: "https://x.org/" }],
  ])("gate as %s", (_what, fields, gate) => {
    expect(created(fields).gate).toEqual(gate);
  });

  test.each([
    [{ name: undefined }, "The task has no name."],
    [{ name: "''" }, "The task has no name."],
    [{ name: "' '" }, "The task has no name."],
    [{ name: "5" }, "The task has no name."],
    [{ schedule: undefined }, "The task has no schedule."],
    [{ schedule: "5" }, "The task has no schedule."],
    [{ taskId: undefined }, "The task has no taskId (a cuid2)."],
    [{ taskId: "5" }, "The task has no taskId (a cuid2)."],
    [{ taskId: "a".repeat(19) }, "The task has no taskId (a cuid2)."],
    [{ taskId: "a".repeat(37) }, "The task has no taskId (a cuid2)."],
    [{ taskId: ID.toUpperCase() }, "The task has no taskId (a cuid2)."],
    [{ gate: "5" }, "The task's gate is not valid."],
    [{ gate: "\n  kind: http\n  command: x" }, "The task's gate is not valid."],
    [{ gate: "\n  url: ftp://x.org/" }, "The task's gate is not valid."],
  ])("%j is refused", (fields, message) => {
    expect(() => readCronTask(file(fields as never))).toThrow(message);
  });

  test.each([20, 36])("taskId may have %i characters", (count) => {
    expect(readCronTask(file({ taskId: "a".repeat(count) })).taskId).toHaveLength(count);
  });
});

describe("a task of the heartbeat", () => {
  test.each([
    ["its title", "---\ntitle: T\nname: N\n---\n# H\nlook", "T"],
    ["its name, if the title is empty", "---\ntitle: ' '\nname: N\n---\n# H\nlook", "N"],
    ["its heading, if the title is no text", "---\ntitle: 5\n---\nlook\n## H \nmore\n# I", "H"],
    ["its file, if a heading has no words", "#\nlook", "a"],
    ["its file, if the sign is not a heading", "#H\nlook", "a"],
  ])("is named by %s", (_what, text, title) => {
    expect(readHeartbeatTask("a", text)).toMatchObject({ id: "a", title });
  });

  test("has its text and its gate, and without a text it is none", () => {
    expect(readHeartbeatTask("a", "---\ngate: true-ish\n---\nlook")).toEqual({
      id: "a",
      title: "a",
      prompt: "look",
      gate: { kind: "command", command: "true-ish" },
    });
    expect(readHeartbeatTask("a", "look")?.gate).toBeUndefined();
    expect(readHeartbeatTask("a", " \n")).toBeUndefined();
  });
});
