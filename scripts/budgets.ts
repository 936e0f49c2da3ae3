/**
 * `npm run tool -- budgets [--write | --list KIND [PATH]]`: counts what the project wants less of, per folder, and compares the counts
 * with `scripts/budgets.json`, as part of `npm run check`. Kinds: `words` (sentences that sound translated); in tests `casts`
 * (`as never`, `as unknown as`), `any` (`as any`), `expect-error` (`@ts-expect-error`) and `worlds` (hand-made environments); in `src`
 * `exports` (that no other file or only tests import).
 * A count may only fall; `--write` lowers the budgets and never raises one. If a count has to rise because a rule is new or
 * files moved, edit the line by hand.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changedCounts, describeChange, lowerBudgets, printBudgets, readBudgets } from "./budgets/compare-budgets.ts";
import { findCasts } from "./budgets/find-casts.ts";
import { findExports } from "./budgets/find-exports.ts";
import { countByFolder, filesOf, HIT_KINDS, type Hit } from "./budgets/hits.ts";
import { readTree } from "./read-tree.ts";
import { findWords } from "./words.ts";

const root = join(import.meta.dirname, "..");
const path = join(root, "scripts/budgets.json");
const [option, kind, listed] = process.argv.slice(2);
const tree = readTree(root);
const unread = findExports(tree);

if (option === "--list") list();
else if (option === undefined || option === "--write") compare(option === "--write");
else fail(`Unknown option "${option}". Use --write or --list KIND [PATH].`);

function findHits(file: string, source: string): readonly Hit[] {
  return [...findWords(file, source), ...findCasts(file, source), ...(unread.get(file) ?? [])];
}

function list(): void {
  if (!HIT_KINDS.some((known) => known === kind)) {
    fail(`Unknown kind "${kind ?? ""}". Use one of ${HIT_KINDS.join(", ")}.`);
    return;
  }
  for (const file of listed === undefined ? tree.keys() : filesOf(listed, [...tree.keys()])) {
    const hits = findHits(file, tree.get(file) ?? "").filter((hit) => hit.kind === kind);
    for (const { line, text } of hits) console.log(`${file}:${line}: ${text}`);
  }
}

function compare(isWrite: boolean): void {
  const counts = countByFolder([...tree].flatMap(([file, source]) => findHits(file, source)));
  // The first run writes the start values.
  const budgets = existsSync(path) ? readBudgets(readFileSync(path, "utf8")) : counts;
  const lowered = isWrite ? lowerBudgets(budgets, counts) : budgets;
  if (isWrite) writeFileSync(path, printBudgets(lowered));
  const changes = changedCounts(lowered, counts);
  for (const change of changes) fail(describeChange(change));
  console.log(`budgets: ${lowered.size} counts, ${changes.length} not as budgeted`);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
