/** Which mutants are tried: all of chosen folders, a random sample of them, or those of the lines that a diff touches. */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { randomOf } from "../kit/random.ts";
import type { Mutant } from "./mutant.ts";
import { sqlMutants } from "./sql-mutants.ts";
import { typescriptMutants } from "./typescript-mutants.ts";

export const FOLDERS: readonly string[] = ["src/core", "src/engine", "src/adapters/store"];

export function allMutants(root: string, folders: readonly string[]): readonly Mutant[] {
  return folders.flatMap((folder) =>
    filesOf(root, folder).flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8");
      return file.endsWith(".sql") ? sqlMutants(file, source) : typescriptMutants(file, source);
    }),
  );
}

/** Migrations are left out: they never change. */
function filesOf(root: string, folder: string): readonly string[] {
  const pattern = /\.\w+$/.test(folder) ? folder : `${folder}/**/*.{ts,sql}`;
  return globSync(pattern, { cwd: root })
    .filter((file) => !/\.(?:test|test-kit)\.ts$/.test(file) && !file.includes("/migrations/"))
    .toSorted();
}

/** N of them at random, the same for the same seed. */
export function sampleOf(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const { int } = randomOf(seed);
  const left = [...mutants];
  const chosen: Mutant[] = [];
  while (chosen.length < count && left.length > 0) {
    const [one] = left.splice(int(0, left.length - 1), 1);
    if (one) chosen.push(one);
  }
  return chosen;
}

/** The mutants on lines that differ from a commit. */
export function changedOf(root: string, mutants: readonly Mutant[], since: string): readonly Mutant[] {
  const diff = spawnSync("git", ["diff", "--unified=0", since, "--", "src"], {
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
