/**
 * `npm run mutate`: puts small mistakes into the source, one at a time, and lists those that the tests do not find.
 * `docs/internals/mutations.md` describes it. `.mutate` keeps the results, so an interrupted run continues.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { copyTree } from "./copy-tree.ts";
import type { Mutant } from "./mutant.ts";
import { allMutants, changedSince, FOLDERS, sampled } from "./plan.ts";
import { survivors, table } from "./report.ts";
import { isTried, openResults } from "./results.ts";
import { testFiles } from "./test-files.ts";
import { tryAlone } from "./try-alone.ts";
import { type Budgets, isNear, type Tried, tryTogether } from "./try-together.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const KEPT = join(ROOT, ".mutate");
const PER_FOLDER = 5;

const { values } = readCommandLine({
  name: "mutate",
  about: "Puts small mistakes into the source, one at a time, and lists those that the tests do not find.",
  options: {
    "per-folder": {
      kind: "count",
      least: 1,
      about: `How many to draw in each folder. Without it: ${PER_FOLDER}, or all with --folder or --changed.`,
    },
    seed: { kind: "count", least: 0, default: 1, about: "The same seed draws the same mutants." },
    folder: { kind: "texts", shown: "PATH", about: `Only in this folder or file. Without it: ${FOLDERS.join(", ")}.` },
    changed: { kind: "text", shown: "COMMIT", about: "Only on lines that changed since this commit." },
    budget: {
      kind: "count",
      least: 0,
      default: 30,
      about: "Seconds that tests of whole systems may take for one mutant.",
    },
    quick: { kind: "flag", about: "Only with the tests of the mutants' folders." },
    tests: { kind: "texts", shown: "PATH", about: "Only with the tests below this path." },
    workers: { kind: "count", least: 1, default: 2, about: "How many processes." },
    again: { kind: "flag", about: "Tries mutants again that were not found before." },
    report: { kind: "flag", about: "Prints what is known and tries nothing." },
  },
});

// The processes that try mutants belong to groups of their own and end with this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
mkdirSync(KEPT, { recursive: true });
/** The minimum that the tests in the folder of a mutant may take for it. */
const NEAR_MS = 30_000;
const budgetMs = values.budget * 1000;
const nearBudgets: Budgets = { near: Math.max(NEAR_MS, 3 * budgetMs), source: 0, simulation: 0, system: 0 };
const farBudgets: Budgets = { near: 0, source: budgetMs / 2, simulation: budgetMs / 4, system: budgetMs };
/** A mutant that only some tests have tried is tried again next time. */
const isPartial = values.quick || values.tests !== undefined;
const results = openResults(ROOT, join(KEPT, "results.jsonl"), values.again);
const mutants = drawn();
if (!values.report) await tryAll();
writeFileSync(
  join(KEPT, "last-run.json"),
  JSON.stringify(
    mutants.map((one) => ({ ...one, verdict: results.get(one) })),
    undefined,
    1,
  ),
);
console.log(`\nNot found:\n${survivors(mutants, results).join("\n")}`);
console.log(`\n${table(mutants, results)}`);

function drawn(): readonly Mutant[] {
  const all = allMutants(ROOT, values.folder ?? FOLDERS);
  const wanted = values.changed === undefined ? all : changedSince(ROOT, all, values.changed);
  const isPart = values.folder !== undefined || values.changed !== undefined;
  return sampled(ROOT, wanted, values["per-folder"] ?? (isPart ? Infinity : PER_FOLDER), values.seed);
}

/** First all together: with the tests of their folders, then with the others. Then those alone that need it. */
async function tryAll(): Promise<void> {
  const isOpen = (one: Mutant): boolean => results.get(one) === undefined;
  if (!mutants.some(isOpen)) return;
  const files = testFiles({ root: ROOT, kept: KEPT, quick: values.quick, tests: values.tests }, mutants);
  const rounds: Tried[] = [];
  if (isPartial) rounds.push(await together(isOpen, files, { ...farBudgets, near: nearBudgets.near }));
  else {
    rounds.push(await together(isOpen, files.filter(isNear(mutants)), nearBudgets));
    rounds.push(await together(isOpen, files, farBudgets));
  }
  const alone = new Map<Mutant, readonly string[]>();
  for (const round of rounds)
    for (const [one, by] of round.alone) if (isOpen(one)) alone.set(one, [...(alone.get(one) ?? []), ...by]);
  for (const one of rounds.at(-1)?.passed.filter((each) => !alone.has(each)) ?? [])
    results.set(one, { found: false, why: "every test passes" }, isPartial);
  if (alone.size > 0) await tryRest([...alone]);
}

function together(isOpen: (mutant: Mutant) => boolean, files: readonly string[], budgets: Budgets): Promise<Tried> {
  return tryTogether(
    {
      root: ROOT,
      kept: KEPT,
      budgets,
      workers: values.workers,
      files,
      keyOf: results.keyOf,
      onFound: (one, by) => results.set(one, { found: true, by }),
    },
    mutants,
    isOpen,
  );
}

async function tryRest(left: [Mutant, readonly string[]][]): Promise<void> {
  console.log(`Trying ${left.length} mutants alone …`);
  const passes = new Map<string, boolean>();
  const worker = async (): Promise<void> => {
    const directory = copyTree(ROOT);
    const remove = (): void => rmSync(directory, { recursive: true, force: true });
    process.once("exit", remove);
    for (let next = left.shift(); next; next = left.shift()) {
      const [one, met] = next;
      const verdict = await tryAlone(
        { directory, kept: KEPT, budgetMs: Math.max(NEAR_MS, budgetMs), passes },
        one,
        met,
      );
      results.set(one, verdict, !verdict.found && (isPartial || !isTried(verdict)));
      const text = verdict.found ? `found by ${verdict.by}` : `NOT FOUND (${verdict.why})`;
      console.log(`${left.length} left  ${text}  ${one.id}`);
    }
  };
  await Promise.all(Array.from({ length: values.workers }, worker));
}
