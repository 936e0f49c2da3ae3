/**
 * `npm test`. Tests beside the sources run without isolation: the files of one worker share its modules, which saves a
 * process and an import per file; those that replace modules do not. Tests in `test` start servers and processes of their own: each file has its own worker.
 */
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Workers and the processes that tests start share what they compile. */
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "rookery-test-compiled");

/**
 * Where tests make their homes: in memory if there is room, because a flush of a disk takes longer than most tests. The
 * tests of crashes use the disk.
 */
const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 4 * 1024 ** 3;
const homes = { TMPDIR: roomIn(MEMORY) >= ENOUGH_BYTES ? MEMORY : tmpdir() };

function roomIn(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** Tests that replace modules: with others in one worker they would get those that are loaded already, or leave theirs behind. */
const MOCKED = "src/**/*.mocked.test.ts";

const source = (file: string): string => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

export default defineConfig({
  // The examples import the package by its name.
  resolve: {
    alias: [
      { find: /^rookery$/, replacement: source("index.ts") },
      { find: /^rookery\/(client|compat|testing)$/, replacement: source("$1.ts") },
    ],
  },
  test: {
    pool: "forks",
    // Vitest leaves one core idle, which halves the speed on two cores. More than two starve the processes tests start.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Long, so that a busy machine does not fail a test. Only a failing test waits this long.
    expect: { poll: { timeout: 60_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [MOCKED],
          isolate: false,
          env: homes,
        },
      },
      { extends: true, test: { name: "mocked", include: [MOCKED], env: homes } },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: ["test/crash/**"],
          globalSetup: ["test/postgres/setup.ts"],
          env: homes,
        },
      },
      { extends: true, test: { name: "crash", include: ["test/crash/**/*.test.ts"] } },
    ],
  },
});
