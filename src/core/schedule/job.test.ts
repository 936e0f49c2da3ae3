import { expect, test } from "vitest";
import type { CronJob } from "./job.ts";
import { revisionOf, staggerOf, versionOf, wakeTimeOf, zoneOf } from "./job-times.ts";

const jobOf = (rest: Partial<CronJob>): CronJob => ({
  id: "daily",
  name: "daily",
  enabled: true,
  createdAtMs: 1,
  updatedAtMs: 1,
  schedule: { kind: "at", atMs: 5 },
  sessionTarget: "isolated",
  wakeMode: "now",
  payload: { kind: "agentTurn", message: "" },
  state: {},
  ...rest,
});

test("a job without numbers has version 0 and revision 1, and its own zone before the configured one", () => {
  expect([versionOf(jobOf({})), revisionOf(jobOf({}))]).toEqual([0, 1]);
  expect([versionOf(jobOf({ version: 4 })), revisionOf(jobOf({ revision: 4 }))]).toEqual([4, 4]);
  expect(zoneOf({ zone: "Asia/Tokyo" }, "UTC")).toBe("Asia/Tokyo");
  expect(zoneOf({}, "UTC")).toBe("UTC");
});

test("the stagger of a job is the same on every node and below its limit", () => {
  // FNV-1a of "daily" and of "a", so that another program version gives the same offset.
  expect(staggerOf({ id: "a", staggerMs: 2 ** 40 })).toBe(0xe40c292c);
  expect(staggerOf({ id: "", staggerMs: 2 ** 40 })).toBe(0x811c9dc5);
  expect(staggerOf({ id: "ab", staggerMs: 2 ** 40 })).toBe(0x4d2505ca);
  expect(staggerOf({ id: "ab", staggerMs: 1_000 })).toBe(0x4d2505ca % 1_000);
  expect(staggerOf({ id: "ab", staggerMs: 1 })).toBe(0);
  expect(staggerOf({ id: "ab" })).toBe(0);
});

test.each([
  [{ enabled: false, state: { nextRunAtMs: 5 } }, undefined],
  [{ state: {} }, undefined],
  [{ state: { nextRunAtMs: 5 } }, 5],
  [{ state: { nextRunAtMs: 0 } }, 0],
  [{ state: { nextRunAtMs: 5, backoffUntilMs: 4 } }, 5],
  [{ state: { nextRunAtMs: 5, backoffUntilMs: 9 } }, 9],
  [{ id: "ab", staggerMs: 1_000, state: { nextRunAtMs: 5 } }, 5 + (0x4d2505ca % 1_000)],
])("a job with %j is looked at again at %s", (rest, expected) => {
  expect(wakeTimeOf(jobOf(rest))).toBe(expected);
});
