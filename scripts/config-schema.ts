/**
 * `npm run tool -- schema --write`: writes the JSON schema of the configuration, `src/config/rookery.schema.json`. Its structure is the
 * schema of the program, its descriptions are the table of `docs/configuration.md`. `rookery config explain` and editors read it.
 * Also writes what a configuration without any section says, `src/config/section-defaults.json`. Without `--write` it fails if a
 * file differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { configSchema } from "../src/config/config-schema.ts";

const PAGE = new URL("../docs/configuration.md", import.meta.url);
export const SCHEMA_FILE = new URL("../src/config/rookery.schema.json", import.meta.url);

type Node = Record<string, unknown> & {
  properties?: Record<string, Node>;
  additionalProperties?: Node;
  items?: Node;
  anyOf?: Node[];
};

/** The descriptions of the table, as plain text, by key. */
export function describedKeys(page: string): ReadonlyMap<string, string> {
  const rows = [...page.matchAll(/^\| (?:\*\*)?`?([\w$.<>[\]]+)`?(?:\*\*)? +\|[^|\n]*\| (.*?) *\|$/gm)];
  return new Map(rows.map(([, key = "", text = ""]) => [key, plain(text)]));
}

const plain = (text: string): string =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|\\(?=\|)/g, "")
    .trim();

export function configJsonSchema(page: string = readFileSync(PAGE, "utf8")): object {
  const described = describedKeys(page);
  const root = z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }) as Node;
  annotate(root, "", described);
  return { ...root, title: "The configuration of Rookery (rookery.json5)" };
}

function annotate(node: Node, path: string, described: ReadonlyMap<string, string>): void {
  delete node.readOnly;
  const text = described.get(path);
  if (text !== undefined) node.description = text;
  for (const [key, child] of Object.entries(node.properties ?? {}))
    annotate(child, path === "" ? key : `${path}.${key}`, described);
  if (node.additionalProperties && typeof node.additionalProperties === "object")
    annotate(node.additionalProperties, `${path}.<name>`, described);
  if (node.items) annotate(node.items, `${path}[]`, described);
}

export const DEFAULTS_FILE = new URL("../src/config/section-defaults.json", import.meta.url);

export const defaultsText = (): string => `${JSON.stringify(configSchema.parse({}), null, 1)}\n`;

export const schemaText = (): string => `${JSON.stringify(configJsonSchema(), null, 1)}\n`;

if (import.meta.main) {
  for (const [file, text] of [[SCHEMA_FILE, schemaText()] as const, [DEFAULTS_FILE, defaultsText()] as const]) {
    if (process.argv.includes("--write")) writeFileSync(file, text);
    else if (readFileSync(file, "utf8") !== text) {
      console.error(
        `${file.pathname.replace(/^.*\/src\//u, "src/")} is not up to date: run \`npm run tool -- schema --write\`.`,
      );
      process.exitCode = 1;
    }
  }
}
