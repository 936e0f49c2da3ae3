/**
 * Vitest for `npm run mutate`: the tests of `npm test`, with many mutants in the sources behind switches (`ROOKERY_MUTANTS`).
 * Processes that tests start get them from `preload.ts`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mergeConfig, type Plugin } from "vitest/config";
import base from "../../vitest.config.ts";
import type { Batch } from "./journal.ts";
import { OrderOfFiles } from "./order-of-files.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const { sources } = JSON.parse(readFileSync(process.env.ROOKERY_MUTANTS ?? "", "utf8")) as Batch;

const change: Plugin = {
  name: "rookery-mutate",
  enforce: "pre",
  load(id) {
    const path = id.split("?")[0] ?? "";
    return path.startsWith(ROOT) ? (sources[path.slice(ROOT.length)] ?? null) : null;
  },
};

export default mergeConfig(base, {
  plugins: [change],
  root: ROOT,
  test: {
    // Vitest caches transformed modules by their text on the disk, which never changes here.
    fsModuleCache: false,
    maxWorkers: 1,
    // One mutant is on at a time.
    maxConcurrency: 1,
    runner: "./test/mutate/mutation-runner.ts",
    sequence: { sequencer: OrderOfFiles },
  },
});
