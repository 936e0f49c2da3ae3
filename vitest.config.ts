import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts"],
    pool: "forks",
    globalSetup: ["test/postgres/setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
