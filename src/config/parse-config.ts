/**
 * Parses the text of a configuration file. Pure. Bad values are errors, and so are unknown keys of limits and rights; other unknown keys are warnings. All name file, line and
 * column.
 */
import JSON5 from "json5";
import type { z } from "zod";
import { closestWord } from "../core/closest-word.ts";
import { ConfigError } from "../core/errors.ts";
import { type Config, configSchema } from "./config-schema.ts";
import { tokenise } from "./json5-tokens.ts";
import { type Locator, locateNearest, locatorFor, type Path } from "./locate.ts";
import { type Misnamed, misnamed } from "./references.ts";
import { schemaTree } from "./schema-tree.ts";
import { NAME_EXPECTED } from "./values.ts";
import { type Warning, warningsOf } from "./warnings.ts";
import { withEnvironment } from "./with-environment.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigText {
  readonly text: string;
  /** The name of the file in messages. */
  readonly file: string;
  readonly env: Environment;
}

/** One message about the file. */
export interface ConfigNote {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The key path, as people write it; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
}

export interface CheckedConfig {
  /** Absent if there are errors. */
  readonly config?: Config;
  readonly errors: readonly ConfigNote[];
  readonly warnings: readonly ConfigNote[];
}

export interface ParsedConfig {
  readonly config: Config;
  readonly warnings: readonly ConfigNote[];
}

/** The configuration and all messages about a text. Never throws. */
export function checkConfig({ text, file, env }: ConfigText): CheckedConfig {
  const read = readJson5(text, file);
  if ("error" in read) return { errors: [read.error], warnings: [] };

  const locate = locatorFor(text);
  const found = warningsOf(schemaTree(configSchema), read.value);
  const warnings = found.filter(({ isError }) => !isError).map((warning) => noteOf(warning, locate, file));
  const refused = found.filter(({ isError }) => isError).map((warning) => noteOf(warning, locate, file));
  // Used once: compiling the schema first would take longer than the check.
  const result = configSchema.safeParse(read.value, { jitless: true });
  const names = result.success ? notesAt(text, file, misnamed(result.data)) : [];
  if (result.success && refused.length + names.length === 0)
    return { config: withEnvironment(result.data, env), errors: [], warnings };

  const errors = (result.error?.issues ?? []).map((issue) =>
    noteOf(
      { path: issue.path, atKey: issue.code === "invalid_key", message: explain(issue, read.value) },
      locate,
      file,
    ),
  );
  return { errors: [...refused, ...errors, ...names], warnings };
}

/** Messages about places in a text. */
export function notesAt(text: string, file: string, problems: readonly Misnamed[]): readonly ConfigNote[] {
  const locate = locatorFor(text);
  return problems.map((problem) => noteOf({ ...problem, atKey: false }, locate, file));
}

/** Throws a `ConfigError` that names every bad value. */
export function parseConfig(source: ConfigText): ParsedConfig {
  const { config, errors, warnings } = checkConfig(source);
  if (config) return { config, warnings };
  throw new ConfigError(errors.map(formatNote).join("\n"), {
    hint: "Correct the file; `rookery config check` checks it again.",
  });
}

export function formatNote(note: ConfigNote): string {
  const about = note.key === "" ? "" : `${note.key}: `;
  return `${note.file}:${note.line}:${note.column}: ${about}${note.message}`;
}

/** A file with only whitespace and comments is an empty configuration. */
function readJson5(text: string, file: string): { readonly value: unknown } | { readonly error: ConfigNote } {
  if (tokenise(text).length === 0) return { value: {} };
  try {
    return { value: JSON5.parse<unknown>(text) };
  } catch (error) {
    const { lineNumber = 1, columnNumber = 1, message } = error as Partial<Json5Error>;
    const what = (message ?? String(error)).replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return { error: { file, line: lineNumber, column: columnNumber, key: "", message: `not valid JSON5: ${what}` } };
  }
}

interface Json5Error {
  readonly message: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

function noteOf(warning: Warning, locate: Locator, file: string): ConfigNote {
  const found = locateNearest(locate, warning.path);
  const place = (warning.atKey ? found?.key : undefined) ?? found?.value;
  return {
    file,
    line: place?.line ?? 1,
    column: place?.column ?? 1,
    key: keyOf(warning.path),
    message: warning.message,
  };
}

function keyOf(path: Path): string {
  return path.reduce<string>((key, segment) => {
    if (typeof segment === "number") return `${key}[${segment}]`;
    // A key may contain any character; the printed path must stay on one line.
    const shown = String(segment).replace(
      /[\p{Cc}\p{Zl}\p{Zp}]/gu,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return key === "" ? shown : `${key}.${shown}`;
  }, "");
}

/** What was expected and what was found. Texts are never quoted: one may be a secret in the wrong place. */
function explain(issue: z.core.$ZodIssue, document: unknown): string {
  if (issue.code === "invalid_key") return NAME_EXPECTED;
  const value = valueAt(document, issue.path);
  if (issue.code === "invalid_value" && typeof value === "string") {
    const meant = closestWord(value, issue.values.map(String));
    if (meant) return `${issue.message}; did you mean "${meant}"?`;
  }
  return `${issue.message}, ${described(value)}`;
}

function described(value: unknown): string {
  if (value === undefined) return "but it is missing";
  if (typeof value === "string") return value === "" ? "not an empty text" : "not this text";
  if (Array.isArray(value)) return "not a list";
  if (typeof value === "object" && value !== null) return "not this object";
  return `not ${String(value)}`;
}

function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, segment) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, segment)
        ? (value as Record<PropertyKey, unknown>)[segment]
        : undefined,
    document,
  );
}
