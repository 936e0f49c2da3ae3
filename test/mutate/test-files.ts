/** The test files that can find mutants: the nearest layers first, in a layer the quickest. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JournalLine } from "./journal.ts";
import type { Mutant } from "./mutant.ts";
import { folderOf } from "./plan.ts";

/** Too slow for what they find, or they test the tools themselves. */
const LEFT_OUT = /^test\/(?:sim\/mutations|mutate|web|flaky|fuzz|malformed|golden)\//;
const LAYERS = [
  "src/core",
  "src/engine",
  "src/adapters/store",
  "src/config",
  "src/app",
  "src/adapters",
  "test/contract",
  "test/postgres",
  "test/sim",
  "test",
];

export interface Wanted {
  readonly root: string;
  readonly kept: string;
  /** Only the tests of the folders that the mutants are in. */
  readonly quick: boolean;
  readonly tests: readonly string[] | undefined;
}

export function testFiles({ root, kept, quick, tests }: Wanted, mutants: readonly Mutant[]): readonly string[] {
  const folders = new Set(mutants.map(({ file }) => folderOf(file)));
  const isWanted = (file: string): boolean =>
    tests ? tests.some((path) => file.startsWith(path)) : !quick || folders.has(folderOf(file));
  const known = durationsIn(kept);
  const slow = (file: string): number => known[file]?.testMs ?? 0;
  const all = LAYERS.flatMap((folder) =>
    globSync(`${folder}/**/*.test.ts`, { cwd: root }).toSorted((one, other) => slow(one) - slow(other)),
  );
  return [...new Set(all)].filter((file) => !LEFT_OUT.test(file) && isWanted(file));
}

/** Known durations by test file, without a mutant: `testMs` is the mean of a test, `ms` the sum. */
export function durationsIn(kept: string): Readonly<Record<string, { readonly testMs: number; readonly ms: number }>> {
  try {
    return JSON.parse(readFileSync(join(kept, "durations.json"), "utf8")) as never;
  } catch {
    return {};
  }
}

export function keepDurations(kept: string, lines: readonly JournalLine[]): void {
  const measured = lines.flatMap((line) =>
    "file" in line ? [[line.file, { testMs: line.testMs, ms: line.ms }] as const] : [],
  );
  writeFileSync(
    join(kept, "durations.json"),
    JSON.stringify({ ...durationsIn(kept), ...Object.fromEntries(measured) }),
  );
}
