/**
 * `npm test`. Tests beside the sources run without isolation: the files of one worker share its modules, which saves a
 * process and an import per file. Tests in `test` start servers and processes of their own: each file has its own worker.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    pool: "forks",
    // Vitest leaves one core idle, which halves the speed on two cores. More than two starve the processes tests start.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts"],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "system", include: ["test/**/*.test.ts"], globalSetup: ["test/postgres/setup.ts"] },
      },
    ],
  },
});
