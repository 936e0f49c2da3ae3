/**
 * Tries one mutant at a time in a copy of the working tree, with test processes of its own: mutants in constants that other modules
 * copy, in SQL files and in the control room, those where no switch fits, and those whose tests cannot run twice in one
 * process. A test that fails without the mutant too finds nothing.
 */
import { spawn } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";
import type { Verdict } from "./results.ts";
import { durationsIn } from "./test-files.ts";
import { killGroup } from "./try-together.ts";

export interface Alone {
  /** The copy, without a mutant. */
  readonly directory: string;
  /** The directory with the durations of tests. */
  readonly kept: string;
  /** Milliseconds that the tests of a mutant may take, as measured without it. */
  readonly budgetMs: number;
  /** Whether a test file passes without a mutant; filled when a mutant fails it. */
  readonly passes: Map<string, boolean>;
}

const STORE_TESTS = ["test/contract/postgres*.test.ts", "src/adapters/store/postgres/**/*.test.ts"];
const PAGE_TESTS = ["test/web/*.test.ts"];
const UNKNOWN_MS = 3000;
const LIMIT_MS = 300_000;
const LIMIT_FACTOR = 20;

/** `met`: the test files that run the mutated line; empty if that is not known. */
export async function tryAlone(setup: Alone, mutant: Mutant, met: readonly string[]): Promise<Verdict> {
  const tests = met.length === 0 ? nearTests(setup.directory, mutant) : affordable(setup, mutant, met);
  if (tests.length === 0) return { found: false, why: "no test runs it" };
  let anyPassed = false;
  for (const stage of stagesOf(setup, tests)) {
    let left = stage.filter((test) => setup.passes.get(test) !== false);
    while (left.length > 0) {
      const { passed, failed } = await withMutant(setup, mutant, () => runTests(setup, left));
      anyPassed ||= passed > 0;
      if (failed === undefined) break;
      if (await passesWithout(setup, failed)) return { found: true, by: failed };
      left = left.filter((test) => test !== failed);
    }
  }
  return { found: false, why: anyPassed ? "every test passes" : "its tests cannot run here" };
}

async function withMutant<T>({ directory }: Alone, mutant: Mutant, run: () => Promise<T>): Promise<T> {
  const path = join(directory, mutant.file);
  const original = readFileSync(path, "utf8");
  writeFileSync(path, mutated(original, mutant));
  try {
    return await run();
  } finally {
    writeFileSync(path, original);
  }
}

async function passesWithout(setup: Alone, test: string): Promise<boolean> {
  const known = setup.passes.get(test);
  if (known !== undefined) return known;
  const { passed, failed } = await runTests(setup, [test]);
  setup.passes.set(test, passed > 0 && failed === undefined);
  return passed > 0 && failed === undefined;
}

function nearTests(root: string, { file }: Mutant): readonly string[] {
  const patterns = file.endsWith(".sql")
    ? STORE_TESTS
    : file.startsWith("web/")
      ? PAGE_TESTS
      : [`${dirname(file)}/*.test.ts`];
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).toSorted());
}

/** The nearest and quickest first, as far as the budget goes. */
function affordable(setup: Alone, mutant: Mutant, tests: readonly string[]): readonly string[] {
  const distance = (test: string): number =>
    dirname(test) === dirname(mutant.file) ? 0 : test.startsWith("src/") ? 1 : 2;
  const sorted = tests.toSorted(
    (one, other) => distance(one) - distance(other) || costOf(setup, one) - costOf(setup, other),
  );
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

interface Outcome {
  /** How many tests passed; skipped ones do not count. */
  readonly passed: number;
  /** The first test file that failed. */
  readonly failed: string | undefined;
}

function runTests(setup: Alone, tests: readonly string[]): Promise<Outcome> {
  const { directory } = setup;
  const results = join(directory, "mutate-results.json");
  rmSync(results, { force: true });
  const expected = tests.reduce((sum, test) => sum + costOf(setup, test), 0);
  return new Promise((resolve) => {
    const child = spawn(
      join(directory, "node_modules/.bin/node"),
      [
        join(directory, "node_modules/vitest/vitest.mjs"),
        ...["run", "--maxWorkers", "1", "--bail", "1", "--reporter", "json", "--outputFile", results, ...tests],
      ],
      { cwd: directory, stdio: "ignore", detached: true },
    );
    const end = (): void => killGroup(child.pid);
    process.once("exit", end);
    const timer = setTimeout(end, LIMIT_MS + LIMIT_FACTOR * expected);
    child.on("close", (code) => {
      clearTimeout(timer);
      process.off("exit", end);
      end();
      resolve(outcome(directory, results, tests, code === 0));
    });
  });
}

/** A run that was ended because it took too long has failed with its first test file. */
function outcome(directory: string, results: string, tests: readonly string[], isGood: boolean): Outcome {
  try {
    const { numPassedTests, testResults } = JSON.parse(readFileSync(results, "utf8")) as {
      numPassedTests: number;
      testResults: { name: string; status: string }[];
    };
    const name = testResults.find(({ status }) => status === "failed")?.name;
    const failed = name?.startsWith(directory) ? name.slice(directory.length + 1) : name;
    return { passed: numPassedTests, failed: isGood ? undefined : (failed ?? tests[0]) };
  } catch {
    return { passed: 0, failed: tests[0] };
  }
}
