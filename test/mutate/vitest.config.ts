/**
 * Vitest for `npm run mutate`: the tests of `npm test`, with one mutant in the source (`ROOKERY_MUTANT`), with many behind
 * switches (`ROOKERY_MUTANTS`), or with marks for the coverage (`ROOKERY_COVERAGE`). Processes that tests start get the first
 * and the last from `preload.ts`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mergeConfig, type Plugin } from "vitest/config";
import base from "../../vitest.config.ts";
import { MARKED, marked } from "./coverage.ts";
import { currentMutant } from "./current-mutant.ts";
import type { Batch } from "./journal.ts";
import { mutated } from "./mutant.ts";
import { OrderOfFiles } from "./order-of-files.ts";
import { type Numbered, switched } from "./switch-mutants.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const mutant = currentMutant();
const records = process.env.ROOKERY_COVERAGE !== undefined;
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
    const numbered = batch?.mutants[file] as readonly Numbered[] | undefined;
    if (numbered) return switched(readFileSync(path, "utf8"), numbered).source;
    return records && MARKED.test(file) ? marked(file, readFileSync(path, "utf8")) : null;
  },
};

export default mergeConfig(base, {
  plugins: [change],
  root: ROOT,
  test: {
    setupFiles: records ? ["test/mutate/coverage-setup.ts"] : [],
    // Vitest keeps transformed modules by the text on the disk, which never changes here.
    fsModuleCache: false,
    maxWorkers: Number(process.env.ROOKERY_WORKERS ?? 1),
    ...(batch ? { runner: "./test/mutate/mutation-runner.ts", sequence: { sequencer: OrderOfFiles } } : {}),
  },
});
