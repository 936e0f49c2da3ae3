/**
 * Tries many mutants in one process of Vitest: they are all in the sources, each behind a switch (`switch-mutants.ts`), and
 * `mutation-runner.ts` turns them on one at a time. A process that hangs is ended, its mutant counts as found, and the
 * next one continues with the files that are left.
 */
import { spawn } from "node:child_process";
import { closeSync, globSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Batch, type JournalLine, linesOf } from "./journal.ts";
import type { Mutant } from "./mutant.ts";
import { type Numbered, switched } from "./switch-mutants.ts";

export interface Together {
  readonly root: string;
  readonly kept: string;
  readonly budgetMs: number;
  readonly workers: number;
  /** Only the tests of the rooms that the mutants are in. */
  readonly quick: boolean;
  readonly tests?: readonly string[];
}

export interface Tried {
  readonly found: ReadonlyMap<Mutant, string>;
  /** Those that every test passed; not those that need a process of their own. */
  readonly passed: readonly Mutant[];
}

/** Deliberate mutations are not the work of a test here. */
const LEFT_OUT = /^test\/sim\/mutations\//;
const POLL_MS = 1000;
/** On top of the limit of a test: after it the process itself hangs. */
const STUCK_MS = 12_000;
const SILENT_MS = 600_000;

export async function tryTogether(setup: Together, mutants: readonly Mutant[]): Promise<Tried> {
  const numbered = mutants.filter((one) => one.file.endsWith(".ts")).map((mutant, number) => ({ number, mutant }));
  const { batch, open, constants } = batchOf(setup, numbered);
  const own = (name: string): string => join(setup.kept, `${process.pid}-${name}`);
  const paths = {
    batch: own("batch.json"),
    journal: own("journal.jsonl"),
    order: own("order.json"),
    output: own("output.txt"),
  };
  mkdirSync(setup.kept, { recursive: true });
  writeFileSync(paths.batch, JSON.stringify(batch));
  let left = testFiles(setup, open);
  while (left.length > 0) {
    console.log(`Trying ${open.length - foundIn(paths.journal).size} mutants with ${left.length} test files …`);
    await runFiles(setup, left, paths);
    const done = new Set(linesOf(paths.journal).flatMap((line) => ("file" in line ? [line.file] : [])));
    const next = left.filter((file) => !done.has(file));
    // A file that ends its process without a mutant is left to the slow way.
    left = next.length < left.length || lastTry(paths.journal) !== undefined ? next : next.slice(1);
    if (lastTry(paths.journal) !== undefined && next.length === left.length) markHung(paths.journal);
  }
  const tried = outcome(paths.journal, open, constants);
  keepDurations(setup.kept, paths.journal);
  if (process.env.ROOKERY_KEEP === undefined) for (const path of Object.values(paths)) rmSync(path, { force: true });
  return tried;
}

function outcome(journal: string, open: readonly Numbered[], constants: ReadonlySet<number>): Tried {
  const by = foundIn(journal);
  const unsure = new Set(linesOf(journal).flatMap((line) => ("unsure" in line ? [line.unsure] : [])));
  const found = new Map<Mutant, string>();
  const passed: Mutant[] = [];
  for (const { number, mutant } of open) {
    const name = by.get(number);
    if (name !== undefined) found.set(mutant, name);
    else if (!unsure.has(number) && !constants.has(number)) passed.push(mutant);
  }
  return { found, passed };
}

/** What the processes read: the mutants that can be switched. */
function batchOf(
  { root, budgetMs }: Together,
  numbered: readonly Numbered[],
): { batch: Batch; open: readonly Numbered[]; constants: ReadonlySet<number> } {
  const mutants: Record<string, readonly Numbered[]> = {};
  const near: Record<string, number[]> = {};
  const constants = new Set<number>();
  for (const [file, all] of Map.groupBy(numbered, ({ mutant }) => mutant.file)) {
    const result = switched(readFileSync(join(root, file), "utf8"), all);
    const placed = all.filter((one) => !result.unplaced.includes(one));
    mutants[file] = placed;
    const folder = near[dirname(file)] ?? [];
    folder.push(...placed.map(({ number }) => number));
    near[dirname(file)] = folder;
    for (const { number } of result.constants) constants.add(number);
  }
  const open = Object.values(mutants).flat();
  return { batch: { numbers: open.map(({ number }) => number), budgetMs, near, mutants }, open, constants };
}

/** The nearest layers first, in a layer the quickest tests. */
const LAYERS = ["src/core", "src/engine", "src/adapters/store", "test/contract", "test/postgres", "test/sim"];

function testFiles({ root, kept, quick, tests }: Together, open: readonly Numbered[]): readonly string[] {
  const rooms = new Set(open.map(({ mutant }) => roomOf(mutant.file)));
  const isWanted = (file: string): boolean =>
    tests ? tests.some((path) => file.startsWith(path)) : !quick || rooms.has(roomOf(file));
  const known = durationsIn(kept);
  const slow = (file: string): number => known[file] ?? 0;
  return LAYERS.flatMap((folder) =>
    globSync(`${folder}/**/*.test.ts`, { cwd: root }).toSorted((one, other) => slow(one) - slow(other)),
  ).filter((file) => !LEFT_OUT.test(file) && isWanted(file));
}

/** How long a test of a file takes without a mutant, as far as it is known. */
function durationsIn(kept: string): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(join(kept, "durations.json"), "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}

function keepDurations(kept: string, journal: string): void {
  const measured = linesOf(journal).flatMap((line) => ("file" in line ? [[line.file, line.testMs] as const] : []));
  const all = { ...durationsIn(kept), ...Object.fromEntries(measured) };
  writeFileSync(join(kept, "durations.json"), JSON.stringify(all));
}

/** `src/engine/triggers`, `src/adapters/store`. */
const roomOf = (file: string): string => file.split("/").slice(0, 3).join("/");

async function runFiles(
  { root, workers }: Together,
  files: readonly string[],
  paths: { readonly batch: string; readonly journal: string; readonly order: string; readonly output: string },
): Promise<void> {
  writeFileSync(paths.order, JSON.stringify(files));
  const output = openSync(paths.output, "a");
  const child = spawn(
    join(root, "node_modules/.bin/node"),
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      ...["run", "--config", "test/mutate/vitest.config.ts", "--reporter", "dot"],
      ...files,
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        ROOKERY_MUTANTS: paths.batch,
        ROOKERY_JOURNAL: paths.journal,
        ROOKERY_ORDER: paths.order,
        ROOKERY_WORKERS: String(workers),
      },
      stdio: ["ignore", output, output],
      detached: true,
    },
  );
  closeSync(output);
  const began = Date.now();
  const timer = setInterval(() => {
    const quiet = Date.now() - Math.max(began, changedAt(paths.journal));
    const open = lastTry(paths.journal);
    if (quiet > (open ? open.limitMs + STUCK_MS : SILENT_MS)) killGroup(child.pid);
  }, POLL_MS);
  const end = (): void => killGroup(child.pid);
  process.once("exit", end);
  await new Promise<void>((resolve) => child.on("close", () => resolve()));
  process.off("exit", end);
  clearInterval(timer);
}

function foundIn(journal: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const line of linesOf(journal)) {
    if ("found" in line) found.set(line.found, line.by);
    if ("hung" in line) found.set(line.hung, "a test that never ends");
  }
  return found;
}

/** The mutant that was on when the process ended or stopped. */
function lastTry(journal: string): { readonly try: number; readonly limitMs: number } | undefined {
  const last = linesOf(journal).findLast((line: JournalLine) => !("file" in line));
  return last && "try" in last ? last : undefined;
}

function markHung(journal: string): void {
  const last = lastTry(journal);
  if (last) writeFileSync(journal, `${JSON.stringify({ hung: last.try })}\n`, { flag: "a" });
}

function changedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {}
}
