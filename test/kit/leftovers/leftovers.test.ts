/** A run of the tests leaves no process, socket or directory behind, however it ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Elsewhere a run finds only its database server. */
const LINUX = process.platform === "linux";

interface Left {
  readonly directories: readonly string[];
  readonly pids: readonly number[];
}

/** Starts a run of `careless.ts`. */
function startRun(env: NodeJS.ProcessEnv) {
  const report = join(mkdtempSync(join(tmpdir(), "rookery-leftovers-")), "left.json");
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--config", "test/kit/leftovers/vitest.config.ts", "--project", "leftovers"];
  // It starts its own database server, and installs nothing.
  const own = { LEFT: report, ROOKERY_TEST_POSTGRES: undefined, ROOKERY_TEST_INSTALL: undefined, CI: undefined };
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...own, ...env }, stdio: "pipe" });
  return {
    child,
    isReported: () => existsSync(report),
    reported: (): Left => JSON.parse(readFileSync(report, "utf8")),
  };
}

/** A process that has ended stays in the list, without its arguments, until its parent has looked at it. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
}

const rest = ({ directories, pids }: Left) => [
  ...directories.filter((path) => existsSync(path)),
  ...pids.filter(isAlive),
];

test.runIf(LINUX)("leaves nothing behind after a test has failed", { concurrent: true }, async ({ expect }) => {
  const { child, reported } = startRun({});
  const [code] = await once(child, "exit");
  expect(code).toBe(1);
  expect(reported().pids).toHaveLength(4);
  expect(rest(reported())).toEqual([]);
});

test.runIf(LINUX)("leaves nothing behind after it was killed", { concurrent: true }, async ({ expect }) => {
  const { child, isReported, reported } = startRun({ WAITS: "1" });
  await expect.poll(isReported).toBe(true);
  const left = reported();
  expect(rest(left)).toEqual([...left.directories, ...left.pids]);
  child.kill("SIGKILL");
  await once(child, "exit");
  await expect.poll(() => rest(left)).toEqual([]);
});
