/** Holds what commands print with `--json` against `docs/cli.schema.json`, in every test that runs a command. */
import { readFileSync } from "node:fs";
import { z } from "zod";
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

/** The commands whose document was valid in this test file. */
export const validDocuments = new Set<string>();

/** What no schema describes: lines instead of one document, a session file, help and version of any command. */
const OTHER_OUTPUT = ["--follow", "-f", "--transcript", "--help", "-h", "--version", "-V"];

export async function checkDocument(argv: readonly string[], { code, out, err }: CommandResult): Promise<void> {
  if (!argv.includes("--json") || argv.some((arg) => OTHER_OUTPUT.includes(arg.split("=")[0] ?? ""))) return;
  const name = await commandOf(argv);
  if (name === undefined) return;
  if (out !== "") {
    check(name, `#/properties/${name}`, published.properties[name], out);
    validDocuments.add(name);
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

/** Undefined if the line does not begin with a command. */
async function commandOf(argv: readonly string[]): Promise<string | undefined> {
  const [word = "", next = ""] = argv;
  if (!Object.hasOwn(REGISTRY, word)) return undefined;
  const command = await REGISTRY[word]?.load();
  if (!command || !("actions" in command)) return word;
  const action = Object.hasOwn(command.actions, next) ? next : command.fallback;
  return action === undefined ? undefined : `${word} ${action}`;
}
