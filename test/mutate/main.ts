/**
 * `npm run mutate -- [--sample N] [--seed S] [--folder PATH] [--changed COMMIT] [--budget SECONDS] [--again] [--cover]`: puts
 * small mistakes into the source, one at a time, and says which of them the tests do not find. `docs/mutations.md`
 * describes it. Results and coverage are kept in `.mutate`, so a run that was interrupted continues.
 */
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { refusedByTypes, unreadable } from "./check-types.ts";
import { loadMet } from "./coverage.ts";
import { isEquivalent, loadEquivalent, outdated } from "./equivalent.ts";
import type { Mutant } from "./mutant.ts";
import { allMutants, changedOf, FOLDERS, sampleOf } from "./plan.ts";
import { report } from "./report.ts";
import { openResults, type Results } from "./results.ts";
import { tryMutant } from "./try-mutant.ts";
import { tryTogether } from "./try-together.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KEPT = join(ROOT, ".mutate");
const COVERAGE = join(KEPT, "coverage");
const PARALLEL = 2;
/** How long tests that are not near a mutant may take for it while many are tried. */
const TOGETHER_MS = 6_000;

const { values } = parseArgs({
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    folder: { type: "string", multiple: true },
    changed: { type: "string" },
    budget: { type: "string", default: "90" },
    /** Without the compiler and with the tests of the same room only: to see while one writes tests what they miss. */
    quick: { type: "boolean", default: false },
    /** With `--quick`: only the tests below these paths. */
    tests: { type: "string", multiple: true },
    workers: { type: "string", default: "1" },
    /** Tries those again that were not found before. */
    again: { type: "boolean", default: false },
    /** Records anew which tests run which piece. */
    cover: { type: "boolean", default: false },
  },
});

// The process that tries them belongs to a group of its own and is ended with this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const mutants = chosen();
const equivalent = loadEquivalent();
for (const one of outdated(ROOT, equivalent))
  console.error(`equivalent.json: this line is gone: ${one.file}: ${one.line}`);
const counted = mutants.filter((one) => !isEquivalent(ROOT, equivalent, one));
const results = openResults(ROOT, join(KEPT, "results.jsonl"), values.again);
if (values.cover) recordCoverage();
checkTypes(counted, results);
await tryMany(counted, results);
if (Number(values.budget) > 0) await tryAll(counted, results);
const text = report(counted, results, mutants.length - counted.length);
console.log(text.table);
process.exitCode = text.isGood ? 0 : 1;

function chosen(): readonly Mutant[] {
  const all = allMutants(ROOT, values.folder ?? FOLDERS);
  const wanted = values.changed === undefined ? all : changedOf(ROOT, all, values.changed);
  return values.sample === undefined ? wanted : sampleOf(wanted, Number(values.sample), Number(values.seed));
}

/** One run of all tests with marks in the sources. It takes about twice as long as `npm test`. */
function recordCoverage(): void {
  console.log("Recording which tests run which piece of the source (minutes) …");
  rmSync(COVERAGE, { recursive: true, force: true });
  const preload = new URL("./preload.ts", import.meta.url);
  const env = { ...process.env, ROOKERY_COVERAGE: COVERAGE, ROOKERY_WORKERS: "2", NODE_OPTIONS: `--import ${preload}` };
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const left = ["--exclude", "test/web/**", "--exclude", "test/sim/mutations/**"];
  spawnSync(
    join(ROOT, "node_modules/.bin/node"),
    [vitest, "run", "--config", "test/mutate/vitest.config.ts", ...left],
    {
      cwd: ROOT,
      env,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
}

function checkTypes(all: readonly Mutant[], known: Results): void {
  const open = all.filter((one) => known.get(one) === undefined);
  if (open.length === 0) return;
  console.log(`Checking the types of ${open.length} mutants …`);
  const refused = values.quick ? unreadable(ROOT, open) : refusedByTypes(ROOT, open);
  for (const one of open) if (refused.has(one.id)) known.set(one, { refused: "types" });
}

/** First all at once, which is quick; what that does not find is tried one by one. */
async function tryMany(all: readonly Mutant[], known: Results): Promise<void> {
  const open = all.filter((one) => known.get(one) === undefined);
  if (open.length === 0) return;
  const root = ROOT.replace(/\/$/, "");
  const setup = {
    root,
    kept: KEPT,
    budgetMs: TOGETHER_MS,
    workers: Number(values.workers),
    quick: values.quick,
    tests: values.tests,
  };
  const tried = await tryTogether(setup, open);
  for (const [one, by] of tried.found) known.set(one, { found: true, by });
  for (const one of tried.passed) known.set(one, { found: false, why: "every test passes", tests: 1 }, values.quick);
}

async function tryAll(all: readonly Mutant[], known: Results): Promise<void> {
  const open = all.filter((one) => known.get(one) === undefined);
  const trial = {
    root: ROOT.replace(/\/$/, ""),
    met: existsSync(COVERAGE) ? loadMet(COVERAGE) : [],
    budgetSeconds: Number(values.budget),
  };
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let one = open.shift(); one; one = open.shift()) {
      const verdict = await tryMutant(trial, one);
      known.set(one, verdict);
      done += 1;
      console.log(
        `${done} of ${done + open.length}  ${verdict.found ? `found by ${verdict.by}` : `NOT FOUND (${verdict.why})`}  ${one.id}`,
      );
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
