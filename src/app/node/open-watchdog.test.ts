import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeNote } from "../../adapters/system/watchdog/note-file.ts";
import { homePaths } from "../../config/paths.ts";
import { StoreFullError } from "../../core/errors.ts";
import { silentLog } from "../../core/ports/log.ts";
import { openWatchdog, type WatchdogDeps, watchdogFile } from "./open-watchdog.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rookery-watchdog-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
const depsWith = (more: object): WatchdogDeps =>
  ({ paths: homePaths(home), log: silentLog, ...more }) as unknown as WatchdogDeps;

describe("how long the event loop may stand still", () => {
  it.each([
    ["20 seconds by default", undefined, undefined, 20_000],
    ["half a lease on a shared store", undefined, 10_000, 5_000],
    ["less than a stop may take", { blockedMs: 20_000, drainMs: 10_000 }, undefined, 7_500],
    ["without a limit", { blockedMs: 0, drainMs: 30_000 }, 10_000, 0],
  ])("is %s", async (_, times, leaseMs, ms) => {
    const shared = leaseMs === undefined ? undefined : { leaseMs };
    const started: number[] = [];
    await openWatchdog(depsWith({ times, opened: { shared } }), ({ blockedMs }) => {
      started.push(blockedMs);
      return { note: () => {}, tool: () => () => {}, drain: () => {}, stop: async () => {} };
    });
    expect(started).toEqual([ms]);
  });
});

describe("the note of the last process", () => {
  const run = { agentId: "a", runId: "r", phase: "context" };
  const open = (commit: () => Promise<unknown>) => {
    const store = { run: async () => ({ state: "open" }), commit, outcome: async () => undefined };
    const ports = { store, ids: { change: () => "c" }, clock: { now: () => 0 } };
    return openWatchdog(depsWith({ opened: {}, ports }));
  };

  it("stays in the home until it is stored", async () => {
    writeNote(watchdogFile(home), { why: "blocked", at: 1, seconds: 20, ...run });
    const full = new StoreFullError("full");
    await expect(open(() => Promise.reject(full))).rejects.toThrow("full");
    expect(existsSync(watchdogFile(home))).toBe(true);
    const watchdog = await open(async () => ({ ok: true, results: [] }));
    expect(existsSync(watchdogFile(home))).toBe(false);
    await watchdog.stop();
  });

  it.each([
    ["names no run", { why: "drain", at: 1, seconds: 30 } as const],
    ["cannot be read", { why: "other", at: 1, seconds: 30 } as never],
  ])("that %s is removed and stores nothing", async (_, note) => {
    writeNote(watchdogFile(home), note);
    const watchdog = await open(() => Promise.reject(new StoreFullError("must not be called")));
    expect(existsSync(watchdogFile(home))).toBe(false);
    await watchdog.stop();
  });
});
