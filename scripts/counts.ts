/**
 * Counts what a newcomer meets: words of the README and of the pages written by hand, commands, keys of the configuration, npm
 * scripts and lines of the sources. Part of `npm run check`: a count above `scripts/counts.json` fails. `npm run tool -- counts --write`
 * lowers the limits; to raise one, edit the line by hand and say why in the commit.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REGISTRY } from "../src/app/cli/registry.ts";
import { configSchema } from "../src/config/config-schema.ts";
import { keysOf, schemaTree } from "../src/config/schema-tree.ts";
import { handWrittenWords } from "./counts/hand-written-words.ts";
import { readTree } from "./read-tree.ts";

const root = join(import.meta.dirname, "..");
const file = join(root, "scripts/counts.json");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** Pages that are generated as a whole. */
const GENERATED = ["api/", "reference/"];

function pages(): readonly string[] {
  return readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".md") && !GENERATED.some((start) => name.startsWith(start)),
  );
}

const isSource = (path: string): boolean => /^src\/.*\.ts$/.test(path) && !/\.(test|test-kit)\.ts$/.test(path);

const counts = {
  "README words": handWrittenWords(read("README.md")),
  "docs words written by hand": pages().reduce((sum, page) => sum + handWrittenWords(read(`docs/${page}`)), 0),
  "top-level commands": Object.keys(REGISTRY).length,
  "configuration keys": keysOf(schemaTree(configSchema)).length,
  "npm scripts": Object.keys((JSON.parse(read("package.json")) as { scripts: object }).scripts).length,
};
const lines = [...readTree(root)].reduce(
  (sum, [path, text]) => (isSource(path) ? sum + text.split("\n").length - 1 : sum),
  0,
);

const known = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
for (const [name, count] of Object.entries(counts)) {
  const limit = known[name] ?? 0;
  if (count > limit) fail(`${name}: ${count}, at most ${limit} are allowed (scripts/counts.json).`);
}
if (process.argv[2] === "--write") {
  const lowered = Object.entries(counts).map(([name, count]) => [name, Math.min(count, known[name] ?? count)]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
}
const shown = Object.entries({ ...counts, "lines in src": lines });
console.log(`counts: ${shown.map(([name, count]) => `${count} ${name}`).join(", ")}`);

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
