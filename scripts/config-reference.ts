/**
 * `npm run tool -- config --write`: writes what is made of the configuration's schema: the reference, `docs/reference/configuration.md`;
 * the JSON schema for editors and `rookery config explain`, `src/config/rookery.schema.json`; and what a configuration without any section
 * says, `src/config/section-defaults.json`. Without `--write` it fails if a file differs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { configSchema } from "../src/config/config-schema.ts";
import { isUnder, START_KEYS } from "../src/config/live-keys.ts";
import { DEFAULT_TEXT_LIMITS, LONGEST_TEXT } from "../src/core/text-limits.ts";

type Node = Readonly<Record<string, unknown>> & {
  description?: string;
  readonly as?: string;
  readonly isSecret?: boolean;
  readonly page?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly required?: readonly string[];
};

const membersOf = ({ properties = {}, additionalProperties, items }: Node): readonly (readonly [string, Node])[] => [
  ...Object.entries(properties).map(([key, child]) => [`.${key}`, child] as const),
  ...(typeof additionalProperties === "object" ? [[".<name>", additionalProperties] as const] : []),
  ...(items ? [["[]", items] as const] : []),
];

const joined = (path: string, step: string): string => (path === "" ? step.replace(/^\./, "") : path + step);

function nodeAt(root: Node, path: string): Node {
  let node = root;
  for (const step of path.replaceAll("[]", ".[]").split(".")) {
    const found = membersOf(node).find(([name]) => name === step || name === `.${step}`)?.[1];
    if (!found) throw new TypeError(`The schema has no key ${path}.`);
    node = found;
  }
  return node;
}

export function configJsonSchema(): object {
  const root = z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" }) as Node;
  const complete = (node: Node): void => {
    Reflect.deleteProperty(node, "readOnly");
    // A place that takes the settings of another key has their descriptions.
    if (node.as !== undefined) describeLike(node, nodeAt(root, node.as));
    for (const [, child] of membersOf(node)) complete(child);
    for (const child of node.anyOf ?? []) complete(child);
  };
  complete(root);
  return { ...root, title: "The configuration of Rookery (rookery.json5)" };
}

/** A place by name, such as `queue.byChannel.<name>`, has the settings one step below. */
function describeLike(node: Node, like: Node): void {
  const inner = typeof node.additionalProperties === "object" ? node.additionalProperties : node;
  for (const [name, child] of Object.entries(inner.properties ?? {})) {
    child.description ??= like.properties?.[name]?.description;
    if (like.properties?.[name]) describeLike(child, like.properties[name]);
  }
}

const HEAD = `# Every key of the configuration

\`npm run tool -- config --write\` writes this page from the schema of the program. [Configuration](../configuration.md) shows the keys that people
set, by task; \`rookery config explain KEY\` prints one of these rows.

\`<name>\` is a name you choose: letters, digits, dots, dashes and underscores. \`[]\` is an item of a list. A *secret* is \`{ env: "NAME" }\` or
\`{ file: "path" }\`. "As \`heartbeat\`": the place takes the keys that are described under \`heartbeat\`, and only what you write differs.
`;

interface Row {
  readonly path: string;
  readonly node: Node;
  readonly isRequired: boolean;
  /** Its own, or that of the list or the names around it. */
  readonly description: string;
  readonly given: unknown;
}

function rowsOf(node: Node, path: string, from: Partial<Row> = {}): readonly Row[] {
  const { isRequired = false } = from;
  const description = node.description ?? from.description ?? "";
  const given = node.default ?? from.given;
  const members = node.as !== undefined ? [] : membersOf(node);
  if (members.length === 0) return [{ path, node, isRequired, description, given }];
  return members.flatMap(([step, child]) => {
    const inside = step.startsWith(".") && step !== ".<name>" ? {} : { description, given };
    const isNeeded = node.required?.includes(step.slice(1)) ?? false;
    return rowsOf(child, joined(path, step), { ...inside, isRequired: isNeeded && child.default === undefined });
  });
}

function takes({ as, isSecret, enum: values, type, minimum, maximum }: Node, path: string): string {
  if (as !== undefined) return `as \`${as}\``;
  if (isSecret) return "a secret";
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (type === "integer" || type === "number") {
    const kind = type === "integer" ? "whole number" : "number";
    const most = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? "" : ` to ${grouped(maximum)}`;
    return `${kind}${most === "" ? `, ${grouped(minimum ?? 0)} or more` : `, ${grouped(minimum ?? 0)}${most}`}${unitOf(path)}`;
  }
  return type === "boolean" ? "`true`, `false`" : "text";
}

const grouped = (number: number): string => number.toLocaleString("en");

/** A name ends with its unit. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/Ms$/, "milliseconds"],
  [/Seconds$/, "seconds"],
  [/Minutes$/, "minutes"],
  [/Hours$/, "hours"],
  [/(?:login|records|audit)Days$/, "days"],
  [/Mb$/, "MB"],
  [/Bytes$/, "bytes"],
  [/[tT]okens|Tokens(?:Floor)?$/, "tokens"],
  [/[dD]ollars/, "dollars"],
];

function unitOf(path: string): string {
  const unit = UNITS.find(([pattern]) => pattern.test(path.split(".").at(-1) ?? ""))?.[1];
  return unit === undefined ? "" : ` (${unit})`;
}

function defaultOf({ isRequired, given, node }: Row): string {
  if (node.as !== undefined) return "";
  if (isRequired) return "required";
  if (given === undefined || (typeof given === "object" && Object.keys(given as object).length === 0)) return "";
  return `\`${JSON.stringify(given)}\``;
}

function rowText(row: Row): string {
  const why = Object.entries(START_KEYS).find(([key]) => isUnder(row.path, key))?.[1];
  const text = `${row.description}${why === undefined ? "" : `. Needs a restart: ${why}`}`;
  const cells = [`\`${row.path}\``, takes(row.node, row.path), defaultOf(row), text];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function sectionText(name: string, node: Node): string {
  const about = node.description ?? "";
  const link = node.page === undefined ? "" : ` See [${node.page.replace(/\.md.*/, "")}](../${node.page}).`;
  const table = [
    "| key | takes | default | what it is |",
    "| --- | --- | --- | --- |",
    ...rowsOf(node, name).map(rowText),
  ];
  return [`## ${name}`, "", `${about.charAt(0).toUpperCase()}${about.slice(1)}.${link}`, "", ...table, ""].join("\n");
}

const TAIL = `## How long texts may be

One long text must not delay the others, so every text from outside has a limit: ${grouped(DEFAULT_TEXT_LIMITS.messageCharacters)} characters of a message,
${grouped(DEFAULT_TEXT_LIMITS.toolResultCharacters)} of a tool result, ${grouped(DEFAULT_TEXT_LIMITS.answerCharacters)} of an answer of a model.

- A longer **message** of a person becomes a [file](../files.md) of the message, up to ${grouped(LONGEST_TEXT)} characters. Any other text is refused with
  its limit: 413 over HTTP. A cron job has at most 100,000 characters.
- A longer **tool result** is cut. A note says how much is shown and which file holds the rest, up to 8,000,000 characters.
- A longer **answer** is ended while it streams. The history and the person get its beginning and a note; clients of the OpenAI API see
  \`finish_reason: "length"\`. Tool calls of such an answer are not executed.

## Environment

| variable | what it is |
| --- | --- |
| \`ROOKERY_HOME\` | the home directory; \`--home\` overrides it |
| \`ROOKERY_STORE\` | the address of a shared database; overrides \`store.url\` |
| \`ROOKERY_NODE\` | the name of this machine among the nodes of a shared store; its host name if it is not set |
| \`ROOKERY_TOKEN\` | the token of the gateway; overrides the one in the home |
| \`ROOKERY_PACKAGES\` | a directory with [optional packages](../channels.md#optional-packages) |
| \`ROOKERY_DEBUG\` | set to any value to print errors with their stack |
| \`ANTHROPIC_API_KEY\`, \`OPENAI_API_KEY\`, \`GEMINI_API_KEY\`, \`GOOGLE_API_KEY\`, \`OPENROUTER_API_KEY\`, \`XAI_API_KEY\`, \`KIMI_API_KEY\`, \`META_API_KEY\`, \`RADIUS_API_KEY\` | a key of that provider, used if neither the configuration nor \`rookery models keys\` has one |

## The home directory

| path | what it is |
| --- | --- |
| \`rookery.json5\` | this configuration |
| \`rookery.db\` | the embedded database |
| \`auth.json\` | keys set with \`rookery models keys\` |
| \`logins.json\` | tokens of [logins](../models.md#logins) |
| \`token\` | the owner's token for the gateway, made at the first start |
| \`tokens.json\` | tokens you minted for others, as hashes |
| \`agents/\` | each agent in plain files |
| \`subagents/\`, \`cron/\` | subagent runs and cron jobs in plain files |
| \`files/\` | attachments, and tool output too long for a model |
| \`workspace/\` | the owner's working directory in the profile \`main\` |
| \`people/\` | a [directory for each other person](../workspaces.md) |
| \`changes/\` | [changes](../changes.md) of prompt files, notes, skills and the configuration, with all versions |
| \`writers/\` | what prompt files count as [while a command runs](../changes.md#while-a-command-runs) |
| \`untrusted-files.jsonl\` | which files were written with [untrusted text](../untrusted.md) in context |
| \`shared-before.txt\` | what was [shared with an earlier version](../workspaces.md#homes-of-earlier-versions); delete it when you have checked it |
| \`logs/\` | logs |
| \`ended-by-watchdog.json\` | why the watchdog ended the last process; removed at the next start |

Directories are created with mode 0700 and files with 0600. An existing directory keeps its mode.
`;

export function referencePage(): string {
  const { properties = {} } = configJsonSchema() as Node;
  const sections = Object.entries(properties).filter(([name]) => name !== "$schema");
  return [HEAD, ...sections.map(([name, node]) => sectionText(name, node)), TAIL].join("\n");
}

const under = (path: string): URL => new URL(`../${path}`, import.meta.url);
const written = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

/** Each generated file with its text. */
export const configFiles = (): readonly (readonly [file: URL, text: string])[] => [
  [under("src/config/rookery.schema.json"), written(configJsonSchema())],
  [under("src/config/section-defaults.json"), written(configSchema.parse({}))],
  [under("docs/reference/configuration.md"), referencePage()],
];

if (import.meta.main) {
  for (const [file, text] of configFiles()) {
    if (process.argv.includes("--write")) writeFileSync(file, text);
    else if (readFileSync(file, "utf8") !== text) {
      const name = file.pathname.replace(/^.*\/(?=src\/|docs\/)/u, "");
      console.error(`${name} differs from the schema of the configuration; run \`npm run tool -- config --write\`.`);
      process.exitCode = 1;
    }
  }
}
