/**
 * Vitest for `npm run mutate`: the tests of `npm test`, with one mutant in the source (`ROOKERY_MUTANT`) or with marks for
 * the coverage (`ROOKERY_COVERAGE`). Processes that tests start get the same from `preload.ts`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mergeConfig, type Plugin } from "vitest/config";
import base from "../../vitest.config.ts";
import { MARKED, marked } from "./coverage.ts";
import { currentMutant } from "./current-mutant.ts";
import { mutated } from "./mutant.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const mutant = currentMutant();
const records = process.env.ROOKERY_COVERAGE !== undefined;

const change: Plugin = {
  name: "rookery-mutate",
  enforce: "pre",
  load(id) {
    const path = id.split("?")[0] ?? "";
    if (!path.startsWith(ROOT)) return null;
    const file = path.slice(ROOT.length);
    if (mutant?.file === file) return mutated(readFileSync(path, "utf8"), mutant);
    return records && MARKED.test(file) ? marked(file, readFileSync(path, "utf8")) : null;
  },
};

export default mergeConfig(base, {
  plugins: [change],
  root: ROOT,
  test: {
    setupFiles: records ? ["test/mutate/coverage-setup.ts"] : [],
    maxWorkers: Number(process.env.ROOKERY_WORKERS ?? 1),
  },
});
