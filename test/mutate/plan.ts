/** Which mutants are tried: all of chosen folders, a random sample of them, or those of the lines that a diff touches. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

/**
 * All of them in a random order, the same for the same seed. The place of a mutant depends on its own text only, so a change
 * elsewhere in the sources leaves the sample as it is.
 */
export function shuffled(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
  const count = new Map<string, number>();
  const placed = mutants.map((mutant) => {
    const text = [seed, mutant.file, mutant.operator, mutant.original, mutant.replacement].join("\n");
    const nth = (count.get(text) ?? 0) + 1;
    count.set(text, nth);
    return { mutant, place: createHash("sha256").update(`${text}\n${nth}`).digest("hex") };
  });
  return placed.toSorted((one, other) => (one.place < other.place ? -1 : 1)).map(({ mutant }) => mutant);
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
