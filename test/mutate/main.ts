/**
 * `npm run mutate`: puts small mistakes into the source, one at a time, and says which of them the tests do not find.
 * `docs/mutations.md` describes it. Results are kept in `.mutate`, so a run that was interrupted continues.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../kit/command-line.ts";
import { type Drawn, draw } from "./draw.ts";
import { loadEquivalent, outdated } from "./equivalent.ts";
import type { Mutant } from "./mutant.ts";
import { allMutants, changedOf, FOLDERS, shuffled } from "./plan.ts";
import { report, survivors } from "./report.ts";
import { openResults } from "./results.ts";
import { testFiles } from "./test-files.ts";
import { tryAlone } from "./try-alone.ts";
import { type Budgets, isNear, type Tried, tryTogether } from "./try-together.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const KEPT = join(ROOT, ".mutate");

const { values } = readCommandLine({
  name: "mutate",
  about: "Puts small mistakes into the source, one at a time, and says which of them the tests do not find.",
  options: {
    sample: { kind: "count", least: 1, about: "Draws so many at random; all if left out." },
    seed: { kind: "counts", least: 0, about: "What is drawn; 1 if left out. Each is a sample of its own." },
    folder: { kind: "texts", shown: "PATH", about: `Where; ${FOLDERS.join(", ")} if left out.` },
    only: { kind: "texts", shown: "PATH", about: "Of the sample: only those below this path." },
    changed: { kind: "text", shown: "COMMIT", about: "Only in lines that changed since this commit." },
    budget: {
      kind: "count",
      least: 0,
      default: 30,
      about: "Seconds that tests of whole systems may take for one mutant.",
    },
    quick: { kind: "flag", about: "Without the compiler, and with the nearest tests only." },
    tests: { kind: "texts", shown: "PATH", about: "Only the tests below this path." },
    workers: { kind: "count", least: 1, default: 2, about: "How many processes." },
    again: { kind: "flag", about: "Tries those again that were not found before." },
    report: { kind: "flag", about: "Says what is known and tries nothing." },
  },
});
const seeds = values.seed ?? [1];

// The processes that try them belong to groups of their own and are ended with this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
mkdirSync(KEPT, { recursive: true });
/** What the tests in the folder of a mutant may take for it, at least. */
const NEAR_MS = 30_000;
const NOTHING: Budgets = { near: 0, source: 0, simulation: 0, system: 0 };
const budgetMs = values.budget * 1000;
/** What only some tests saw says nothing for ever. */
const isPartial = values.quick || values.tests !== undefined;
const equivalent = loadEquivalent();
for (const one of outdated(ROOT, equivalent))
  console.error(`equivalent.json: this line is gone: ${one.file}: ${one.line}`);
const results = openResults(ROOT, join(KEPT, "results.jsonl"), values.again);
const samples = drawn();
const below = (one: Mutant): boolean => values.only?.some((path) => one.file.startsWith(path)) ?? true;
if (!values.report) await tryAll([...new Set(samples.flatMap(({ mutants }) => mutants.filter(below)))]);
console.log(
  `\nNot found:\n${survivors([...new Set(samples.flatMap(({ mutants }) => mutants.filter(below)))], results).join("\n")}`,
);
let isGood = true;
for (const [index, { mutants, refused, equivalent: same }] of samples.entries()) {
  const text = report(mutants.filter(below), results);
  isGood &&= text.isGood;
  if (values.sample !== undefined) console.log(`\nSeed ${seeds[index]}`);
  console.log(`\n${text.table}\n\n${refused} more do not compile, ${same} change nothing (equivalent.json).`);
}
process.exitCode = isGood ? 0 : 1;

function drawn(): readonly Drawn[] {
  const all = allMutants(ROOT, values.folder ?? FOLDERS);
  const wanted = values.changed === undefined ? all : changedOf(ROOT, all, values.changed);
  const setup = { root: ROOT, results, equivalent, quick: values.quick };
  if (values.sample === undefined) return draw(setup, [wanted], Infinity);
  return draw(
    setup,
    seeds.map((seed) => shuffled(wanted, seed)),
    values.sample,
  );
}

/** First all at once: with the tests of their folders, then with the others. Then those alone that need it. */
async function tryAll(mutants: readonly Mutant[]): Promise<void> {
  const isOpen = (one: Mutant): boolean => results.get(one) === undefined;
  if (!mutants.some(isOpen)) return;
  const files = testFiles({ root: ROOT, kept: KEPT, quick: values.quick, tests: values.tests }, mutants);
  const near = await together(mutants, isOpen, files.filter(isNear(mutants)), {
    ...NOTHING,
    near: Math.max(NEAR_MS, 3 * budgetMs),
  });
  const far = { near: 0, source: budgetMs / 2, simulation: budgetMs / 4, system: budgetMs };
  const rest = await together(mutants, isOpen, files, far);
  for (const one of rest.passed.filter((each) => !near.alone.has(each)))
    results.set(one, { found: false, why: "every test passes" }, isPartial);
  const alone = new Map(rest.alone);
  for (const [one, by] of near.alone) if (isOpen(one)) alone.set(one, [...by, ...(alone.get(one) ?? [])]);
  await tryRest([...alone]);
}

function together(
  mutants: readonly Mutant[],
  isOpen: (mutant: Mutant) => boolean,
  files: readonly string[],
  budgets: Budgets,
): Promise<Tried> {
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
  const setup = { root: ROOT, kept: KEPT, budgetMs, passes: new Map<string, Promise<boolean>>() };
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [one, met] = next;
      const verdict = await tryAlone(setup, one, met);
      results.set(one, verdict, isPartial && !verdict.found);
      const text = verdict.found ? `found by ${verdict.by}` : `NOT FOUND (${verdict.why})`;
      console.log(`${left.length} left  ${text}  ${one.id}`);
    }
  };
  if (left.length > 0) console.log(`Trying ${left.length} mutants alone …`);
  await Promise.all(Array.from({ length: values.workers }, worker));
}
