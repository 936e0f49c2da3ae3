/**
 * The PL/pgSQL functions that apply changes, from `functions/`. Their names in the database carry a digest of their text,
 * so that nodes of two versions work on one database side by side, each with its own functions.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

interface ApplyFunctions {
  /** The name `apply_changes` has in the database for this version of the program; likewise the others. */
  readonly applyChanges: string;
  readonly applyBatch: string;
  readonly retireDead: string;
  readonly statements: readonly string[];
}

let functions: ApplyFunctions | undefined;

export function applyFunctions(): ApplyFunctions {
  if (functions) return functions;
  const folder = new URL("./functions/", import.meta.url);
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => readFileSync(new URL(file, folder), "utf8"));
  const digest = createHash("sha256").update(files.join("\n")).digest("hex").slice(0, 10);
  const named = (text: string): string => text.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => `${name}_${digest}`);
  functions = {
    applyChanges: named("{{apply_changes}}"),
    applyBatch: named("{{apply_batch}}"),
    retireDead: named("{{retire_dead}}"),
    statements: files.map(named),
  };
  return functions;
}
