/** Chooses the mutants to try: a random sample of each folder, or those on the lines that a diff touches. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";
import { sqlMutants } from "./sql-mutants.ts";
import { parse } from "./syntax.ts";
import { typescriptMutants } from "./typescript-mutants.ts";

export const FOLDERS: readonly string[] = ["src", "web/src"];

export function allMutants(root: string, folders: readonly string[]): readonly Mutant[] {
  return folders.flatMap((folder) =>
    sourcesIn(root, folder).flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8");
      return file.endsWith(".sql") ? sqlMutants(file, source) : typescriptMutants(file, source);
    }),
  );
}

/** Skips migrations: they never change. */
function sourcesIn(root: string, folder: string): readonly string[] {
  const pattern = /\.\w+$/.test(folder) ? folder : `${folder}/**/*.{ts,tsx,sql}`;
  return globSync(pattern, { cwd: root })
    .filter((file) => !/\.(?:test|test-kit)\.ts$/.test(file) && !file.includes("/migrations/"))
    .toSorted();
}

/** The folder of a sample and of a row in the report: `src/engine/agents`, `web/src/views`. */
export function folderOf(file: string): string {
  return dirname(file).split("/").slice(0, 3).join("/");
}

/** Draws `count` mutants from each folder. */
export function sampled(root: string, mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  return [...Map.groupBy(mutants, ({ file }) => folderOf(file)).values()].flatMap((folder) => {
    const sample: Mutant[] = [];
    for (const one of shuffled(folder, seed)) {
      if (sample.length === count) break;
      if (canBeParsed(root, one)) sample.push(one);
    }
    return sample;
  });
}

function canBeParsed(root: string, mutant: Mutant): boolean {
  if (mutant.file.endsWith(".sql")) return true;
  try {
    parse(mutated(readFileSync(join(root, mutant.file), "utf8"), mutant), mutant.file);
    return true;
  } catch {
    return false;
  }
}

/**
 * Shuffles mutants; the same seed gives the same order. The place of a mutant depends only on its file and text, so a change
 * elsewhere leaves a sample as it is.
 */
function shuffled(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
  const count = new Map<string, number>();
  const placed = mutants.map((mutant) => {
    const text = [seed, mutant.file, mutant.operator, mutant.original, mutant.replacement].join("\n");
    const nth = (count.get(text) ?? 0) + 1;
    count.set(text, nth);
    return { mutant, place: createHash("sha256").update(`${text}\n${nth}`).digest("hex") };
  });
  return placed.toSorted((one, other) => (one.place < other.place ? -1 : 1)).map(({ mutant }) => mutant);
}

/** Keeps the mutants on lines that differ from a commit. */
export function changedSince(root: string, mutants: readonly Mutant[], commit: string): readonly Mutant[] {
  const diff = spawnSync("git", ["diff", "--unified=0", commit, "--", ...FOLDERS], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 256 * 1024 ** 2,
  });
  const lines = new Set<string>();
  let file = "";
  for (const line of diff.stdout.split("\n")) {
    if (line.startsWith("+++ b/")) file = line.slice(6);
    const range = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!range) continue;
    const first = Number(range[1]);
    for (let at = first; at < first + Number(range[2] ?? 1); at++) lines.add(`${file}:${at}`);
  }
  return mutants.filter((one) => lines.has(`${one.file}:${one.line}`));
}
