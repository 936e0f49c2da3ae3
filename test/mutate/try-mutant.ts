/**
 * Tries one mutant: the tests that run its piece, the nearest and quickest first, then those of whole systems. The first
 * that fails has found it. What a system test finds is confirmed without the mutant, so that a slow machine finds nothing.
 */
import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Met, pieceAt, piecesOf } from "./coverage.ts";
import type { Mutant } from "./mutant.ts";

export type Verdict =
  | { readonly found: true; readonly by: string }
  | { readonly found: false; readonly why: "no test runs it" | "every test passes"; readonly tests: number };

export interface Trial {
  readonly root: string;
  readonly met: readonly Met[];
  /** How many seconds of tests a mutant may cost, as measured without it. */
  readonly budgetSeconds: number;
}

const FIRST_SECONDS = 15;
/** Their own mutants are deliberate, and they take long. */
const LEFT_OUT = /^test\/(?:sim\/mutations|mutate|web)\//;
const SYSTEM = /^test\//;

export async function tryMutant(trial: Trial, mutant: Mutant): Promise<Verdict> {
  const tests = testsFor(trial, mutant);
  if (tests.length === 0) return { found: false, why: "no test runs it", tests: 0 };
  for (const stage of stagesOf(tests, trial.budgetSeconds)) {
    const failed = await runTests(trial.root, stage, mutant);
    if (failed === undefined) continue;
    const isSystem = SYSTEM.test(failed);
    if (
      isSystem &&
      (await runTests(
        trial.root,
        stage.filter((one) => one.test === failed),
        undefined,
      )) !== undefined
    )
      continue;
    return { found: true, by: failed };
  }
  return { found: false, why: "every test passes", tests: tests.length };
}

/** The tests that met the mutant's piece. SQL files have no pieces: the tests of their store. */
function testsFor({ root, met }: Trial, mutant: Mutant): readonly Met[] {
  if (met.length === 0) return nearTests(root, mutant);
  const candidates = met.filter(({ test }) => !LEFT_OUT.test(test));
  const chosen = mutant.file.endsWith(".sql")
    ? testsOfStore(candidates, mutant)
    : testsOfPiece(root, candidates, mutant);
  return chosen.toSorted((one, other) => rank(one, mutant) - rank(other, mutant));
}

const UNKNOWN_MS = 2_000;

/** Without a record of the coverage: the tests of its folder, and the contract of its store. */
function nearTests(root: string, mutant: Mutant): readonly Met[] {
  const store = /^src\/adapters\/store\/(postgres|sqlite)\//.exec(mutant.file)?.[1];
  const near = globSync(`${dirname(mutant.file)}/*.test.ts`, { cwd: root }).toSorted();
  const contract = store === undefined ? [] : [`test/contract/${store}.test.ts`];
  return [...near, ...contract]
    .map((test) => ({ test, milliseconds: UNKNOWN_MS, pieces: {} }))
    .toSorted((one, other) => rank(one, mutant) - rank(other, mutant));
}

function testsOfPiece(root: string, met: readonly Met[], mutant: Mutant): readonly Met[] {
  const piece = pieceAt(piecesOf(readFileSync(join(root, mutant.file), "utf8")), mutant.start);
  return met.filter(({ pieces }) => {
    const numbers = pieces[mutant.file];
    // What stands outside every function runs when the file is loaded, which only the first test of a worker records.
    return numbers !== undefined && (piece === 0 ? numbers.length > 0 : numbers.includes(piece));
  });
}

function testsOfStore(met: readonly Met[], mutant: Mutant): readonly Met[] {
  const store = mutant.file.split("/").slice(0, 4).join("/");
  return met.filter(({ pieces }) => Object.keys(pieces).some((file) => file.startsWith(`${store}/`)));
}

/** Nearest first: the test of the file, those of its folder, other tests beside sources, then whole systems. */
function rank({ test, milliseconds }: Met, mutant: Mutant): number {
  const distance =
    test === mutant.file.replace(/\.ts$/, ".test.ts")
      ? 0
      : dirname(test) === dirname(mutant.file)
        ? 1
        : SYSTEM.test(test)
          ? 3
          : 2;
  return distance * 1e9 + milliseconds;
}

/** The first stage is short; the second holds what the budget allows. */
function stagesOf(tests: readonly Met[], budgetSeconds: number): readonly (readonly Met[])[] {
  const first: Met[] = [];
  const second: Met[] = [];
  let spent = 0;
  for (const one of tests) {
    spent += one.milliseconds / 1000 + 0.2;
    if (spent <= FIRST_SECONDS || first.length === 0) first.push(one);
    else if (spent <= budgetSeconds) second.push(one);
  }
  return [first, second].filter((stage) => stage.length > 0);
}

/** Runs test files with a mutant; the file that failed, or undefined if all passed. */
function runTests(root: string, tests: readonly Met[], mutant: Mutant | undefined): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "rookery-mutate-"));
  const results = join(directory, "results.json");
  const env: NodeJS.ProcessEnv = { ...process.env, ROOKERY_COVERAGE: undefined };
  if (mutant) {
    const path = join(directory, "mutant.json");
    writeFileSync(path, JSON.stringify(mutant));
    env.ROOKERY_MUTANT = path;
    env.NODE_OPTIONS = `--import ${pathToFileURL(join(root, "test/mutate/preload.ts"))}`;
  }
  const expected = tests.reduce((sum, { milliseconds }) => sum + milliseconds + 200, 0);
  return new Promise((resolve) => {
    const child = spawn(
      join(root, "node_modules/.bin/node"),
      [
        join(root, "node_modules/vitest/vitest.mjs"),
        ...["run", "--config", "test/mutate/vitest.config.ts", "--bail", "1"],
        ...["--reporter", "json", "--outputFile", results],
        ...tests.map(({ test }) => test),
      ],
      { cwd: root, env, stdio: "ignore", detached: true },
    );
    const timer = setTimeout(() => kill(child.pid), 60_000 + 8 * expected);
    child.on("close", (code) => {
      clearTimeout(timer);
      const failed = code === 0 ? undefined : failedFile(root, results, tests);
      rmSync(directory, { recursive: true, force: true });
      resolve(failed);
    });
  });
}

/** A run that was ended because it took too long has found the mutant with its first test. */
function failedFile(root: string, results: string, tests: readonly Met[]): string {
  try {
    const { testResults } = JSON.parse(readFileSync(results, "utf8")) as {
      testResults: { name: string; status: string }[];
    };
    const failed = testResults.find(({ status }) => status === "failed");
    if (failed) return failed.name.startsWith(root) ? failed.name.slice(root.length + 1) : failed.name;
  } catch {}
  return tests[0]?.test ?? "";
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {}
}
