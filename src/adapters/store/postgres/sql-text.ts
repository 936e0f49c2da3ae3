/** The texts of statements, functions and migrations, each read once from its own file. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const texts = new Map<string, string>();

/** The statement of `sql/<name>.sql`. */
export function sqlText(name: string): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), "utf8");
    texts.set(name, text);
  }
  return text;
}

export interface Functions {
  /** The name `apply_changes` has in the database for this version of the program. */
  readonly applyChanges: string;
  readonly applyBatch: string;
  readonly retireDead: string;
  readonly statements: readonly string[];
}

let functions: Functions | undefined;

/**
 * The functions changes are applied by. Their names carry a digest of their text, so that nodes of two versions work on
 * one database side by side, each with its own.
 */
export function applyFunctions(): Functions {
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
    applyBatch: named("{{apply_plain}}"),
    retireDead: named("{{retire_dead}}"),
    statements: files.map(named),
  };
  return functions;
}
