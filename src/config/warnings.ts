/** Warnings about a configuration: unknown keys, and secrets in plain text. */
import { closestWord } from "../core/closest-word.ts";
import type { Path } from "./locate.ts";
import type { SchemaTree } from "./schema-tree.ts";

export interface Warning {
  readonly path: Path;
  readonly message: string;
  /** Whether the warning is about the key, not its value: it is unknown. */
  readonly atKey: boolean;
  /** The known key that is closest to an unknown one. */
  readonly meant?: string;
  /** An unknown key that would leave a limit or a right as it is: it counts as an error. */
  readonly isError?: true;
}

/** Where a typo must not switch a limit off or let someone in: sections, and keys at any depth. */
const STRICT_SECTIONS: readonly string[] = ["budgets", "access", "people", "approvals", "rules", "sandbox"];
const STRICT_KEYS: readonly string[] = ["tools", "limits", "access", "grants", "budgets"];

const isStrict = (path: Path): boolean =>
  STRICT_SECTIONS.includes(String(path[0])) || path.some((key) => STRICT_KEYS.includes(String(key)));

/** Names that other systems use for sections of this configuration. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ["agents", "profiles"],
  ["sessions", "profiles"],
  ["server", "gateway"],
  ["logging", "log"],
  ["database", "store"],
  ["providers", "models.providers"],
]);

export function warningsOf(tree: SchemaTree, value: unknown, path: Path = []): readonly Warning[] {
  switch (tree.kind) {
    case "section":
      return members(value).flatMap(([key, child]) => {
        const known = tree.keys.get(key);
        return known ? warningsOf(known, child, [...path, key]) : [unknownKey(key, tree.keys.keys(), path)];
      });
    case "named":
      return members(value).flatMap(([name, child]) => warningsOf(tree.value, child, [...path, name]));
    case "list":
      return Array.isArray(value) ? value.flatMap((item, index) => warningsOf(tree.item, item, [...path, index])) : [];
    case "secret":
      return typeof value === "string"
        ? [{ path, atKey: false, message: 'a secret written openly; better { env: "NAME" } or { file: "path" }' }]
        : [];
    case "value":
      return [];
  }
}

const members = (value: unknown): readonly (readonly [string, unknown])[] =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];

function unknownKey(key: string, known: Iterable<string>, path: Path): Warning {
  const meant = (path.length === 0 ? OTHER_WORDS.get(key) : undefined) ?? closestWord(key, known);
  const isError = isStrict(path) || undefined;
  const what = isError ? "unknown key; a limit or a right with a typo would not hold" : "unknown key, ignored";
  const message = meant ? `${what}; did you mean "${meant}"?` : what;
  return { path: [...path, key], atKey: true, message, isError, meant };
}
