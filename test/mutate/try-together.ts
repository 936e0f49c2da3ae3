/**
 * Tries many mutants in two processes of Vitest: they are all in the sources, each behind a switch (`switch-mutants.ts`), and
 * `mutation-runner.ts` turns them on one at a time. The processes share the test files and tell each other in their
 * journals what they found. One that hangs is ended, its mutant counts as found, and the next continues with the files
 * that are left. The journals stay until all is tried, so an interrupted run continues.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Batch, follow, type JournalLine, linesOf } from "./journal.ts";
import type { Mutant } from "./mutant.ts";
import { processorTime, residentMemory } from "./own-time.ts";
import { type Numbered, switched } from "./switch-mutants.ts";
import { keepDurations } from "./test-files.ts";

export type Budgets = Batch["budgets"];

export interface Together {
  readonly root: string;
  readonly kept: string;
  readonly budgets: Budgets;
  readonly workers: number;
  /** In the order in which they run. */
  readonly files: readonly string[];
  readonly keyOf: (mutant: Mutant) => string;
  /** Called as soon as one is found. */
  readonly onFound: (mutant: Mutant, by: string) => void;
}

export interface Tried {
  /** Every test passes. */
  readonly passed: readonly Mutant[];
  /** Those that need a process of their own, with the test files that met them. */
  readonly alone: ReadonlyMap<Mutant, readonly string[]>;
}

const POLL_MS = 1000;
/** On top of the limit of a test, processor time: after it the process itself hangs. */
const STUCK_MS = 2000;
const SILENT_MS = 900_000;
/** A mutant that collects without end takes all memory long before its limit. */
const MEMORY_BYTES = 3 * 1024 ** 3;

interface Lane {
  readonly directory: string;
  readonly journal: string;
  files: readonly string[];
}

/** `all`: the sample, also those that are found already, so that an interrupted run knows its numbers again. */
export async function tryTogether(
  setup: Together,
  all: readonly Mutant[],
  isOpen: (mutant: Mutant) => boolean,
): Promise<Tried> {
  const open = all.map((mutant, number) => ({ number, mutant })).filter(({ mutant }) => isOpen(mutant));
  if (open.length === 0) return { passed: [], alone: new Map() };
  const { batch, needOwn } = batchOf(setup, open);
  const home = join(setup.kept, `batch-${nameOf(setup, all)}`);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "batch.json"), JSON.stringify(batch));
  const lanes = Array.from({ length: setup.workers }, (_none, index): Lane => {
    const directory = join(home, String(index));
    mkdirSync(directory, { recursive: true });
    return { directory, journal: join(directory, "journal.jsonl"), files: [] };
  });
  const done = new Set(lanes.flatMap(({ journal }) => filesIn(linesOf(journal))));
  const left = setup.files.filter((file) => !done.has(file));
  for (const [index, lane] of lanes.entries())
    lane.files = left.filter((_file, place) => place % lanes.length === index);
  console.log(`Trying ${open.length} mutants with ${left.length} test files …`);
  const byNumber = new Map(open.map(({ number, mutant }) => [number, mutant]));
  const tell = teller(lanes, byNumber, setup.onFound);
  const timer = setInterval(tell, POLL_MS);
  await Promise.all(lanes.map((lane) => runLane(setup, home, lanes, lane)));
  clearInterval(timer);
  tell();
  const lines = lanes.flatMap(({ journal }) => linesOf(journal));
  keepDurations(setup.kept, lines);
  const tried = outcome(lines, open, needOwn);
  rmSync(home, { recursive: true, force: true });
  return tried;
}

function nameOf({ budgets, files, keyOf }: Together, mutants: readonly Mutant[]): string {
  const hash = createHash("sha256");
  for (const one of mutants) hash.update(keyOf(one));
  for (const one of files.toSorted()) hash.update(one);
  hash.update(JSON.stringify(budgets));
  return hash.digest("hex").slice(0, 12);
}

function filesIn(lines: readonly JournalLine[]): readonly string[] {
  return lines.flatMap((line) => ("file" in line ? [line.file] : []));
}

function teller(
  lanes: readonly Lane[],
  byNumber: ReadonlyMap<number, Mutant>,
  onFound: Together["onFound"],
): () => void {
  const followed = lanes.map(({ journal }) => follow(journal));
  const told = new Set<number>();
  return () => {
    for (const line of followed.flatMap((read) => read())) {
      const [number, by] = "found" in line ? [line.found, line.by] : "hung" in line ? [line.hung, "a hang"] : [-1, ""];
      const mutant = byNumber.get(number);
      if (!mutant || told.has(number)) continue;
      told.add(number);
      onFound(mutant, by);
    }
  };
}

async function runLane(setup: Together, home: string, lanes: readonly Lane[], lane: Lane): Promise<void> {
  while (lane.files.length > 0) {
    await runFiles(setup, home, lanes, lane);
    const done = new Set(filesIn(linesOf(lane.journal)));
    const next = lane.files.filter((file) => !done.has(file));
    const last = lastTry(linesOf(lane.journal));
    // Skips a file that ends its process without a mutant.
    const isStuck = next.length === lane.files.length && last === undefined;
    if (isStuck) console.error(`This test file ends its process without a mutant: ${next[0]}`);
    lane.files = isStuck ? next.slice(1) : next;
    if (last && lane.files.length > 0)
      writeFileSync(lane.journal, `${JSON.stringify({ hung: last.try })}\n`, { flag: "a" });
  }
}

async function runFiles({ root, workers }: Together, home: string, lanes: readonly Lane[], lane: Lane): Promise<void> {
  writeFileSync(join(lane.directory, "order.json"), JSON.stringify(lane.files));
  const output = openSync(join(lane.directory, "output.txt"), "a");
  const child = spawn(
    join(root, "node_modules/.bin/node"),
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      ...["run", "--config", "test/mutate/vitest.config.ts", "--reporter", "dot", ...lane.files],
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        ROOKERY_MUTANTS: join(home, "batch.json"),
        ROOKERY_JOURNAL: lane.journal,
        ROOKERY_JOURNALS: lanes.map(({ journal }) => journal).join(":"),
        ROOKERY_CONTROL: lane.directory,
        ROOKERY_ORDER: join(lane.directory, "order.json"),
        NODE_OPTIONS: `--import ${pathToFileURL(join(root, "test/mutate/preload.ts"))}`,
      },
      stdio: ["ignore", output, output],
      detached: true,
    },
  );
  closeSync(output);
  const watch = watcher(lane.journal, () => killGroup(child.pid));
  const timer = setInterval(watch, POLL_MS * workers);
  const end = (): void => killGroup(child.pid);
  process.once("exit", end);
  await new Promise<void>((resolve) => child.on("close", () => resolve()));
  // Servers that a test started live on if its process was ended.
  end();
  process.off("exit", end);
  clearInterval(timer);
}

/** Ends the process if one try takes far more processor time than it may, or nothing happens for long. */
function watcher(journal: string, kill: () => void): () => void {
  const read = follow(journal);
  let open: { readonly try: number; readonly limitMs: number; readonly pid: number } | undefined;
  let used = 0;
  let quietSince = Date.now();
  return () => {
    const lines = read();
    const last = lastTry(lines);
    if (lines.length > 0) {
      open = last;
      used = last ? processorTime(last.pid) : 0;
      quietSince = Date.now();
    }
    const isStuck =
      open !== undefined &&
      (processorTime(open.pid) - used > open.limitMs + STUCK_MS || residentMemory(open.pid) > MEMORY_BYTES);
    if (isStuck || Date.now() - quietSince > SILENT_MS) kill();
  };
}

/** The mutant that was on when the process ended or stopped. */
function lastTry(
  lines: readonly JournalLine[],
): { readonly try: number; readonly limitMs: number; readonly pid: number } | undefined {
  const last = lines.at(-1);
  return last && "try" in last ? last : undefined;
}

function outcome(lines: readonly JournalLine[], open: readonly Numbered[], needOwn: ReadonlySet<number>): Tried {
  const found = new Set(lines.flatMap((line) => ("found" in line ? [line.found] : "hung" in line ? [line.hung] : [])));
  const unsure = Map.groupBy(
    lines.flatMap((line) => ("unsure" in line ? [line] : [])),
    (line) => line.unsure,
  );
  const passed: Mutant[] = [];
  const alone = new Map<Mutant, readonly string[]>();
  for (const { number, mutant } of open) {
    if (found.has(number)) continue;
    const files = new Set((unsure.get(number) ?? []).map(({ by }) => by));
    if (needOwn.has(number))
      for (const line of lines) if ("file" in line && line.met.includes(number)) files.add(line.file);
    if (files.size > 0 || needOwn.has(number)) alone.set(mutant, [...files]);
    else passed.push(mutant);
  }
  return { passed, alone };
}

/** Tests in the folders that hold mutants are near, and for a store its contract. */
export function isNear(mutants: readonly Mutant[]): (file: string) => boolean {
  const folders = new Set(mutants.flatMap(({ file }) => nearFolders(file)));
  return (file) => folders.has(dirname(file));
}

function nearFolders(file: string): readonly string[] {
  return /^src\/adapters\/store\/(?:postgres\/|sqlite\/|[^/]+$)/.test(file)
    ? [dirname(file), "test/contract"]
    : [dirname(file)];
}

/** The input of the test processes. */
function batchOf(
  { root, budgets }: Together,
  numbered: readonly Numbered[],
): { batch: Batch; needOwn: ReadonlySet<number> } {
  const sources: Record<string, string> = {};
  const near: Record<string, number[]> = {};
  const numbers: number[] = [];
  const needOwn = new Set<number>();
  for (const [file, all] of Map.groupBy(numbered, ({ mutant }) => mutant.file)) {
    // Neither Vitest nor Node loads SQL and the page.
    if (file.endsWith(".sql") || file.startsWith("web/")) {
      for (const { number } of all) needOwn.add(number);
      continue;
    }
    const { source, constants, unplaced } = switched(readFileSync(join(root, file), "utf8"), all);
    sources[file] = source;
    const placed = all.filter((one) => !unplaced.includes(one)).map(({ number }) => number);
    numbers.push(...placed);
    for (const folder of nearFolders(file)) near[folder] = [...(near[folder] ?? []), ...placed];
    for (const { number } of [...constants, ...unplaced]) needOwn.add(number);
  }
  return { batch: { numbers, budgets, near, sources }, needOwn };
}

export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {}
}
