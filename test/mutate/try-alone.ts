/**
 * Tries one mutant in a process of its own: those in constants that other modules copy, where no switch can stand, and those
 * whose tests cannot be repeated in one process. What fails is run again without the mutant, so that a test that fails
 * anyway finds nothing.
 */
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Mutant } from "./mutant.ts";
import type { Verdict } from "./results.ts";
import { durationsIn } from "./test-files.ts";
import { killGroup } from "./try-together.ts";

export interface Alone {
  readonly root: string;
  readonly kept: string;
  /** What the tests of a mutant may take, as measured without it. */
  readonly budgetMs: number;
  /** Whether a test file passes without a mutant; filled when a mutant fails it. */
  readonly passes: Map<string, Promise<boolean>>;
}

const STORE_TESTS = [
  "src/adapters/store/postgres/**/*.test.ts",
  "test/contract/postgres*.test.ts",
  "test/postgres/*.test.ts",
];
const UNKNOWN_MS = 3000;
const LIMIT_MS = 120_000;
const LIMIT_FACTOR = 20;

export async function tryAlone(setup: Alone, mutant: Mutant, met: readonly string[]): Promise<Verdict> {
  const tests = affordable(setup, mutant, met.length === 0 ? nearTests(setup.root, mutant) : met);
  if (tests.length === 0) return { found: false, why: "no test runs it" };
  for (const stage of stagesOf(setup, tests)) {
    const failed = await runTests(setup, stage, mutant);
    if (failed === undefined) continue;
    const passes = setup.passes.get(failed) ?? runTests(setup, [failed], undefined).then((one) => one === undefined);
    setup.passes.set(failed, passes);
    if (await passes) return { found: true, by: failed };
  }
  return { found: false, why: "every test passes" };
}

/** Those of its folder and the contract of its store. */
function nearTests(root: string, mutant: Mutant): readonly string[] {
  const patterns = mutant.file.endsWith(".sql") ? STORE_TESTS : [`${dirname(mutant.file)}/*.test.ts`];
  return globSync(patterns, { cwd: root }).toSorted();
}

/** The nearest and quickest first, as far as the budget goes. */
function affordable(setup: Alone, mutant: Mutant, tests: readonly string[]): readonly string[] {
  const far = (test: string): number => (dirname(test) === dirname(mutant.file) ? 0 : test.startsWith("src/") ? 1 : 2);
  const sorted = tests.toSorted((one, other) => far(one) - far(other) || costOf(setup, one) - costOf(setup, other));
  let spent = 0;
  return sorted.filter((test, index) => {
    spent += costOf(setup, test);
    return index === 0 || spent <= setup.budgetMs;
  });
}

/** A short one first. */
function stagesOf(setup: Alone, tests: readonly string[]): readonly (readonly string[])[] {
  const first = tests.filter((test, index) => index === 0 || (index < 6 && costOf(setup, test) < UNKNOWN_MS));
  return [first, tests.filter((test) => !first.includes(test))].filter((stage) => stage.length > 0);
}

function costOf({ kept }: Alone, test: string): number {
  return durationsIn(kept)[test]?.ms ?? UNKNOWN_MS;
}

/** Runs test files with a mutant; the file that failed, or undefined if all passed. */
function runTests(setup: Alone, tests: readonly string[], mutant: Mutant | undefined): Promise<string | undefined> {
  const { root } = setup;
  const directory = mkdtempSync(join(tmpdir(), "rookery-mutate-"));
  const results = join(directory, "results.json");
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (mutant) {
    const path = join(directory, "mutant.json");
    writeFileSync(path, JSON.stringify(mutant));
    env.ROOKERY_MUTANT = path;
    env.NODE_OPTIONS = `--import ${pathToFileURL(join(root, "test/mutate/preload.ts"))}`;
  }
  const expected = tests.reduce((sum, test) => sum + costOf(setup, test), 0);
  return new Promise((resolve) => {
    const child = spawn(
      join(root, "node_modules/.bin/node"),
      [
        join(root, "node_modules/vitest/vitest.mjs"),
        ...["run", "--config", "test/mutate/vitest.config.ts", "--bail", "1"],
        ...["--reporter", "json", "--outputFile", results, ...tests],
      ],
      { cwd: root, env, stdio: "ignore", detached: true },
    );
    const end = (): void => killGroup(child.pid);
    process.once("exit", end);
    const timer = setTimeout(end, LIMIT_MS + LIMIT_FACTOR * expected);
    child.on("close", (code) => {
      clearTimeout(timer);
      process.off("exit", end);
      const failed = code === 0 ? undefined : failedFile(root, results, tests);
      end();
      rmSync(directory, { recursive: true, force: true });
      resolve(failed);
    });
  });
}

/** A run that was ended because it took too long has found the mutant with its first test. */
function failedFile(root: string, results: string, tests: readonly string[]): string {
  try {
    const { testResults } = JSON.parse(readFileSync(results, "utf8")) as {
      testResults: { name: string; status: string }[];
    };
    const failed = testResults.find(({ status }) => status === "failed");
    if (failed) return failed.name.startsWith(root) ? failed.name.slice(root.length + 1) : failed.name;
  } catch {}
  return tests[0] ?? "";
}
