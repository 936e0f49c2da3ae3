/**
 * Vitest for `npm run mutate`: the tests of `npm test`, with one mutant in the source (`ROOKERY_MUTANT`) or with many behind
 * switches (`ROOKERY_MUTANTS`). Processes that tests start get them from `preload.ts`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mergeConfig, type Plugin } from "vitest/config";
import base from "../../vitest.config.ts";
import { currentMutant } from "./current-mutant.ts";
import type { Batch } from "./journal.ts";
import { mutated } from "./mutant.ts";
import { OrderOfFiles } from "./order-of-files.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const mutant = currentMutant();
const many = process.env.ROOKERY_MUTANTS;
const batch = many === undefined ? undefined : (JSON.parse(readFileSync(many, "utf8")) as Batch);

const change: Plugin = {
  name: "rookery-mutate",
  enforce: "pre",
  load(id) {
    const path = id.split("?")[0] ?? "";
    if (!path.startsWith(ROOT)) return null;
    const file = path.slice(ROOT.length);
    if (mutant?.file === file) return mutated(readFileSync(path, "utf8"), mutant);
    return batch?.sources[file] ?? null;
  },
};

export default mergeConfig(base, {
  plugins: [change],
  root: ROOT,
  test: {
    // Vitest keeps transformed modules by the text on the disk, which never changes here.
    fsModuleCache: false,
    maxWorkers: 1,
    // One mutant is on at a time.
    maxConcurrency: 1,
    ...(batch ? { runner: "./test/mutate/mutation-runner.ts", sequence: { sequencer: OrderOfFiles } } : {}),
  },
});
