/**
 * Which mutants the compiler finds: those are no mistakes that tests could find, and do not count. Many are checked at
 * once, one per file, in a copy of the sources.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Mutant, mutated } from "./mutant.ts";
import { parse } from "./syntax.ts";

/** What is unused or unreachable is a matter of style here, not of types. */
const LOOSE = ["--noUnusedLocals", "false", "--noUnusedParameters", "false", "--allowUnreachableCode", "true"];
const COPIED = ["src", "package.json"];
/** Tests are left out: what only they would notice at compile time, they must notice when they run. */
const EXCLUDED = {
  exclude: ["**/*.test.ts", "**/*.test-kit.ts", "src/testing.ts", "src/app/testing"],
};

/** `onChecked` is called for each as soon as it is known. */
export function checkTypes(
  root: string,
  mutants: readonly Mutant[],
  onChecked: (mutant: Mutant, accepted: boolean) => void,
): void {
  const scripts = mutants.filter((one) => one.file.endsWith(".ts"));
  // One file that cannot be read hides every other error from the compiler.
  const broken = unreadable(root, scripts);
  for (const one of mutants) {
    if (!one.file.endsWith(".ts")) onChecked(one, true);
    else if (broken.has(one.id)) onChecked(one, false);
  }
  const directory = mkdtempSync(join(tmpdir(), "rookery-mutate-types-"));
  try {
    for (const name of COPIED) cpSync(join(root, name), join(directory, name), { recursive: true });
    const config = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as object;
    writeFileSync(
      join(directory, "tsconfig.json"),
      JSON.stringify({ ...config, include: layersOf(scripts), ...EXCLUDED }),
    );
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    for (const batch of batches(scripts.filter((one) => !broken.has(one.id)))) {
      const refused = new Set<string>();
      checkBatch(root, directory, batch, refused);
      for (const one of batch) onChecked(one, !refused.has(one.id));
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Those that are not even a program. */
export function unreadable(root: string, mutants: readonly Mutant[]): ReadonlySet<string> {
  const scripts = mutants.filter((one) => one.file.endsWith(".ts"));
  return new Set(
    scripts.filter((one) => !canBeRead(mutated(readFileSync(join(root, one.file), "utf8"), one))).map((one) => one.id),
  );
}

function checkBatch(root: string, directory: string, batch: readonly Mutant[], refused: Set<string>): void {
  if (batch.length === 0) return;
  for (const one of batch)
    writeFileSync(join(directory, one.file), mutated(readFileSync(join(root, one.file), "utf8"), one));
  const bad = filesWithErrors(directory);
  for (const one of batch) writeFileSync(join(directory, one.file), readFileSync(join(root, one.file), "utf8"));
  for (const one of batch) if (bad.has(one.file)) refused.add(one.id);
  const [only] = batch;
  if (batch.length === 1 && only && bad.size > 0) refused.add(only.id);
  // An error in a file that was not changed comes from one of the changed files that it imports.
  const rest = batch.filter((one) => !bad.has(one.file));
  const suspects = new Set<Mutant>();
  for (const file of bad) {
    if (batch.some((one) => one.file === file)) continue;
    const imported = importsOf(root, file);
    const blamed = rest.filter((one) => imported.has(one.file));
    if (blamed.length === 1 && blamed[0]) refused.add(blamed[0].id);
    else for (const one of blamed) suspects.add(one);
  }
  const open = [...suspects].filter((one) => !refused.has(one.id));
  if (batch.length > 1 && open.length > 0) {
    checkBatch(root, directory, open.slice(0, Math.ceil(open.length / 2)), refused);
    checkBatch(root, directory, open.slice(Math.ceil(open.length / 2)), refused);
  }
}

function importsOf(root: string, file: string): ReadonlySet<string> {
  const source = readFileSync(join(root, file), "utf8");
  const names = [...source.matchAll(/from "(\.[^"]+)"/g)].map(([, name = ""]) => name);
  return new Set(names.map((name) => join(dirname(file), name)));
}

/** Only the layers with mutants: what imports them sees the same types, as far as a mutant can tell. */
function layersOf(mutants: readonly Mutant[]): readonly string[] {
  return [...new Set(mutants.map(({ file }) => file.split("/").slice(0, 2).join("/")))].map((layer) =>
    layer === "src/adapters" &&
    mutants.every(({ file }) => !file.startsWith(layer) || file.startsWith(`${layer}/store`))
      ? `${layer}/store`
      : layer,
  );
}

function canBeRead(source: string): boolean {
  try {
    parse(source);
    return true;
  } catch {
    return false;
  }
}

function filesWithErrors(directory: string): ReadonlySet<string> {
  const result = spawnSync(join(directory, "node_modules/.bin/tsc"), ["--noEmit", "--pretty", "false", ...LOOSE], {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
  });
  const found = new Set<string>();
  for (const line of result.stdout.split("\n")) {
    const file = /^([^\s(]+)\(\d+,\d+\): error/.exec(line)?.[1];
    if (file !== undefined) found.add(file);
  }
  return found;
}

/** Batches in which no file comes twice. */
function batches(mutants: readonly Mutant[]): readonly (readonly Mutant[])[] {
  const found: Mutant[][] = [];
  const count = new Map<string, number>();
  for (const one of mutants) {
    const index = count.get(one.file) ?? 0;
    count.set(one.file, index + 1);
    const batch = found[index] ?? [];
    batch.push(one);
    found[index] = batch;
  }
  return found;
}
