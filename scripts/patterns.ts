/**
 * `npm run tool -- patterns [--write] [--all]`: proves with recheck that the regular expressions of the sources are linear. Without
 * options it says what `--write` would do. `--write` checks the patterns that are new, refuses those that are not proven, and
 * writes the list; `--all` checks every pattern again. `npm run check` only compares the list with the sources.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSources } from "./check-rules.ts";
import { findPatterns, LIST, type Pattern, patternProblems, readList } from "./find-patterns.ts";

interface Verdict {
  readonly status: "safe" | "vulnerable" | "unknown";
  readonly complexity?: { readonly summary: string };
  readonly attack?: { readonly pattern: string };
  readonly error?: { readonly kind: string };
}
type Check = (source: string, flags: string, options: { readonly timeout: number }) => Promise<Verdict>;

const TIMEOUT_MS = 60_000;
const HEAD = "Regular expressions of src that recheck proved linear. Written by `npm run tool -- patterns --write`.";

const root = join(import.meta.dirname, "..");
const sources = readSources(root);
const before = readFileSync(join(root, LIST), "utf8");
const wants = (option: string): boolean => process.argv.includes(option);

if (!wants("--write") && !wants("--all")) {
  const problems = patternProblems(sources, before);
  for (const { file, line, message } of problems) console.log(`${file}:${line}: ${message}`);
  console.log(`${problems.length} problems`);
  process.exit(problems.length === 0 ? 0 : 1);
}

const used = [...new Set(findPatterns(sources).map(({ pattern }) => pattern))].sort();
const known = readList(before);
const toCheck = wants("--all") ? used : used.filter((pattern) => !known.has(pattern));
const refused = await refusedOf(toCheck);
for (const [pattern, reason] of refused) {
  const places = findPatterns(sources).filter((one) => one.pattern === pattern);
  console.error(`${places.map(({ file, line }) => `${file}:${line}`).join(", ")}: ${pattern} ${reason}`);
}
if (wants("--write")) {
  const proven = used.filter((pattern) => !refused.has(pattern));
  writeFileSync(join(root, LIST), `${[HEAD, ...proven].join("\n")}\n`);
}
console.log(`${toCheck.length} patterns checked, ${refused.size} refused, ${used.length} in use`);
// The check leaves a process behind that would keep this one alive.
process.exit(refused.size === 0 ? 0 : 1);

/** The patterns that are not proven linear, and why. */
async function refusedOf(patterns: readonly Pattern[]): Promise<ReadonlyMap<Pattern, string>> {
  const found = new Map<Pattern, string>();
  if (patterns.length === 0) return found;
  const check = await loadCheck();
  for (const pattern of patterns) {
    const end = pattern.lastIndexOf("/");
    const verdict = await check(pattern.slice(1, end), pattern.slice(end + 1), { timeout: TIMEOUT_MS });
    if (verdict.status === "safe") continue;
    const { complexity, attack, error } = verdict;
    const reason = complexity
      ? `is a ${complexity.summary}, for example on ${attack?.pattern}`
      : `is not proven: ${error?.kind}`;
    found.set(pattern, reason);
  }
  return found;
}

/** A development tool that only this script needs. Not named in an import: sources are checked without it. */
async function loadCheck(): Promise<Check> {
  const name = "recheck";
  try {
    return ((await import(name)) as { readonly check: Check }).check;
  } catch {
    console.error("recheck is not installed; run `npm ci`.");
    process.exit(1);
  }
}
