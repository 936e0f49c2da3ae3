/** What is a job: the forms of schedules, gates and jobs at their boundaries. */
import { describe, expect, test } from "vitest";
import { cronIsolationSchema, cronJobSchema, cronScheduleSchema, gateSchema } from "./job.ts";

test.each<[object, boolean]>([
  [{ kind: "at", atMs: 0 }, true],
  [{ kind: "at", atMs: 0.5 }, false],
  [{ kind: "every", everyMs: 1 }, true],
  [{ kind: "every", everyMs: 0 }, false],
  [{ kind: "every", everyMs: 1.5 }, false],
  [{ kind: "every", everyMs: 1, anchorMs: -5 }, true],
  [{ kind: "every", everyMs: 1, anchorMs: 0.5 }, false],
  [{ kind: "cron", expr: "x" }, true],
  [{ kind: "cron", expr: "0 9 * * *", tz: "UTC" }, true],
  [{ kind: "cron", expr: "" }, false],
])("the schedule %j is accepted: %s", (schedule, ok) => {
  expect(cronScheduleSchema.safeParse(schedule).success).toBe(ok);
});

describe("a gate", () => {
  const http = { kind: "http", url: "https://example.org/" };
  test.each<[string, object, boolean]>([
    ["of one letter", { kind: "command", command: "x" }, true],
    ["without a command", { kind: "command", command: "" }, false],
    ["of 4,096 letters", { kind: "command", command: "x".repeat(4_096) }, true],
    ["of 4,097 letters", { kind: "command", command: "x".repeat(4_097) }, false],
    ["in a directory of one letter", { kind: "command", command: "x", cwd: "/" }, true],
    ["in a directory", { kind: "command", command: "x", cwd: "/w" }, true],
    ["in a directory without a name", { kind: "command", command: "x", cwd: "" }, false],
    ["over https", http, true],
    ["over http", { ...http, url: "http://example.org/" }, true],
    ["over another protocol", { ...http, url: "ftp://example.org/" }, false],
    ["without an address", { kind: "http", url: "" }, false],
    ...[{ kind: "command", command: "x" }, http].flatMap((gate): [string, object, boolean][] => [
      [`(${gate.kind}) of 100 ms`, { ...gate, timeoutMs: 100 }, true],
      [`(${gate.kind}) of 99 ms`, { ...gate, timeoutMs: 99 }, false],
      [`(${gate.kind}) of 100.5 ms`, { ...gate, timeoutMs: 100.5 }, false],
      [`(${gate.kind}) of five minutes`, { ...gate, timeoutMs: 300_000 }, true],
      [`(${gate.kind}) of longer`, { ...gate, timeoutMs: 300_001 }, false],
    ]),
  ])("%s is accepted: %s", (_title, gate, ok) => {
    expect(gateSchema.safeParse(gate).success).toBe(ok);
  });
});

describe("a job", () => {
  const job = {
    ...{ id: "j", name: "n", enabled: true, createdAtMs: 1, updatedAtMs: 1, sessionTarget: "main", wakeMode: "now" },
    ...{ schedule: { kind: "at", atMs: 1 }, payload: { kind: "systemEvent", text: "" }, state: {} },
  };
  test.each<[object, boolean]>([
    [{}, true],
    [{ id: "daily", name: "every day" }, true],
    [{ id: "" }, false],
    [{ name: "" }, false],
    [{ createdAtMs: 0.5 }, false],
    [{ updatedAtMs: 0.5 }, false],
    [{ version: 0.5 }, false],
    [{ revision: 0.5 }, false],
    [{ maxLatenessMs: 0 }, true],
    [{ maxLatenessMs: -1 }, false],
    [{ maxLatenessMs: 0.5 }, false],
    [{ staggerMs: 0 }, true],
    [{ staggerMs: -1 }, false],
    [{ staggerMs: 86_400_000 }, true],
    [{ staggerMs: 86_400_001 }, false],
    [{ missed: "all" }, true],
    [{ missed: "some" }, false],
    [{ overlap: "queue" }, true],
    [{ overlap: "both" }, false],
    [{ sessionTarget: "other" }, false],
    [{ wakeMode: "later" }, false],
    [{ system: "heartbeat" }, true],
    [{ system: "other" }, false],
    [{ state: { nextRunAtMs: 0.5 } }, false],
    [{ state: { lastStatus: "fine" } }, false],
  ])("with %j is accepted: %s", (more, ok) => {
    expect(cronJobSchema.safeParse({ ...job, ...more }).success).toBe(ok);
  });

  test("keeps fields that it does not know, in itself and in its state", () => {
    const more = { ...job, later: 1, state: { later: 2 } };
    expect(cronJobSchema.parse(more)).toEqual(more);
  });

  test.each<[object, boolean]>([
    [{ postToMainMode: "full", postToMainMaxChars: 1 }, true],
    [{ postToMainMaxChars: 0 }, false],
    [{ postToMainMaxChars: 1.5 }, false],
    [{ postToMainMode: "some" }, false],
  ])("that posts to the main conversation with %j is accepted: %s", (isolation, ok) => {
    expect(cronIsolationSchema.safeParse(isolation).success).toBe(ok);
  });
});
