/**
 * `npm test`. Tests beside the sources run without isolation: the files of one worker share its modules, which saves a
 * process and an import per file; those that replace modules do not. Tests in `test` start servers and processes of their own: each file has its own worker.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { testRun } from "./test/kit/test-run.ts";

/** Workers and the processes that tests start share what they compile. It stays for the next run. */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/rookery-compiled", import.meta.url));

/** Where tests make their homes. The tests of crashes use the disk. */
const { memory, disk } = testRun();
const homes = { TMPDIR: memory };

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
    globalSetup: ["test/kit/setup.ts"],
    pool: "forks",
    // Vitest leaves one core idle, which halves the speed on two cores. More than two starve the processes tests start.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A worker that ran hundreds of files needs seconds to end on a busy machine, which should not end in a warning.
    teardownTimeout: 60_000,
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
          setupFiles: ["test/kit/restore-environment.ts", "test/kit/check-replies.ts"],
          env: homes,
        },
      },
      // The page without a browser: its document is global, so these files are apart from the others.
      { extends: true, test: { name: "page", include: ["web/src/**/*.test.{ts,tsx}"], env: homes } },
      { extends: true, test: { name: "mocked", include: [MOCKED], env: homes } },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: ["test/crash/**"],
          setupFiles: ["test/kit/check-replies.ts"],
          env: homes,
        },
      },
      { extends: true, test: { name: "crash", include: ["test/crash/**/*.test.ts"], env: { TMPDIR: disk } } },
    ],
  },
});
