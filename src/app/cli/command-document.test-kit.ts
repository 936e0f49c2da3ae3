/** Holds what commands print with `--json` against `docs/cli.schema.json`, in every test that runs a command. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { chooseAction } from "./choose-action.ts";
import type { CommandResult } from "./cli.test-kit.ts";
import { REGISTRY } from "./registry.ts";

interface Published {
  readonly properties: Readonly<Record<string, object>>;
  readonly $defs: Readonly<Record<string, object>>;
}

const published = JSON.parse(
  readFileSync(new URL("../../../docs/cli.schema.json", import.meta.url), "utf8"),
) as Published;
const compiled = new Map<string, z.ZodType>();

/** The commands that have a schema. */
export const commandsWithSchema: readonly string[] = Object.keys(published.properties);

/** The commands that print no document: their type is `never`. */
export const withoutDocument: readonly string[] = commandsWithSchema.filter(
  (name) => "not" in (published.properties[name] ?? {}),
);

/** Commands with a list as their document. */
export const listCommands: readonly string[] = commandsWithSchema.filter((name) =>
  hasItems(published.properties[name] ?? {}),
);

function hasItems(schema: object): boolean {
  const {
    $ref,
    properties = {},
    anyOf = [],
  } = schema as {
    $ref?: string;
    properties?: object;
    anyOf?: readonly object[];
  };
  if ($ref !== undefined) return hasItems(published.$defs[$ref.replace("#/$defs/", "")] ?? {});
  return "items" in properties || anyOf.some(hasItems);
}

/** By test file: the files of one worker share this module. */
const validIn = new Map<string, Set<string>>();

/** The commands whose document was valid in this test file. A list without items shows nothing. */
export function validDocuments(): Set<string> {
  const file = expect.getState().testPath ?? "";
  const names = validIn.get(file) ?? new Set();
  validIn.set(file, names);
  return names;
}

/**
 * The last test of a file, which fails for a command whose document no test of this file has printed. `test/e2e/local-commands.ts` names
 * the file for each command, and a test fails for a command that neither its tables nor a call of this function names.
 */
export function printsDocumentsOf(...names: readonly string[]): void {
  it(`prints documents that their schemas allow: ${names.join(", ")}`, () => {
    expect(names.filter((name) => !validDocuments().has(name))).toEqual([]);
  });
}

/** What no schema describes: lines instead of one document, a session file, help and version of any command. */
const OTHER_OUTPUT = ["--follow", "--transcript", "--help", "--version"];
/** The same as letters, alone or among others: `-f`, `-hV`. */
const OTHER_LETTERS = /^-[a-zA-Z]*[fhV]/;

export async function checkDocument(argv: readonly string[], { code, out, err }: CommandResult): Promise<void> {
  const isOther = (arg: string): boolean => OTHER_OUTPUT.includes(arg.split("=")[0] ?? "") || OTHER_LETTERS.test(arg);
  if (!argv.includes("--json") || argv.some(isOther)) return;
  const name = await commandOf(argv);
  if (name === undefined) return;
  if (out !== "") {
    check(name, `#/properties/${name}`, published.properties[name], out);
    if (JSON.parse(out).items?.length !== 0) validDocuments().add(name);
  } else if (code !== 0) {
    check(name, "#/$defs/CommandError", published.$defs.CommandError, err.trim().split("\n").at(-1) ?? "");
  } else throw new Error(`rookery ${name} --json succeeds and prints nothing.`);
}

function check(name: string, key: string, schema: object | undefined, text: string): void {
  if (schema === undefined) throw new Error(`docs/cli.schema.json has no schema for "rookery ${name}".`);
  const known = compiled.get(key) ?? z.fromJSONSchema({ ...schema, $defs: published.$defs } as never);
  compiled.set(key, known);
  const result = known.safeParse(JSON.parse(text));
  if (result.success) return;
  throw new Error(
    `rookery ${name} --json prints what its schema does not allow: ${JSON.stringify(result.error.issues).slice(0, 3_000)}\n${text.slice(0, 2_000)}`,
  );
}

/** Undefined if the line does not begin with a command, or with an action that does not exist. */
async function commandOf([word = "", ...rest]: readonly string[]): Promise<string | undefined> {
  const command = Object.hasOwn(REGISTRY, word) ? await REGISTRY[word]?.load() : undefined;
  if (!command) return undefined;
  try {
    const { name, action } = chooseAction(word, command, rest);
    return action && name;
  } catch {
    return undefined;
  }
}
