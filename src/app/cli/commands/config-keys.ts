/** `rookery config get|set|explain`: one key of the configuration. */
import { readFileSync } from "node:fs";
import { closestWord } from "../../../core/closest-word.ts";
import { NotFoundError } from "../../../core/errors.ts";
import { printableJson } from "../../../core/printable.ts";
import { defineAction } from "../command.ts";
import { printResult } from "../print.ts";
import { scopeWarning } from "../scope-warning.ts";
import { setConfigValue, setText } from "../set-config-value.ts";

export const getAction = defineAction({
  summary: "print one value of the configuration, with its default if it is not set",
  usage: "<key>",
  arguments: { min: 1, max: 1 },
  examples: ["rookery config get gateway.port"],
  async run(context) {
    const [key = ""] = context.args;
    const { config } = await context.loadConfig();
    const plain = JSON.parse(JSON.stringify(config)) as unknown;
    const value = key
      .split(".")
      .reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], plain);
    if (value === undefined) explained(key);
    const text =
      value === undefined
        ? "not set"
        : typeof value === "string"
          ? value
          : printableJson(JSON.stringify(value, null, 2));
    return printResult(context, { key, value: value ?? null }, text);
  },
});

export const setAction = defineAction({
  summary: "set one value in the file; comments and everything else stay",
  usage: "<key> <value>",
  description:
    "The value is JSON5, or a plain word. The file is changed only if the whole configuration is valid with it, and you can undo it. A running engine takes it at once, or says that it needs a restart.",
  arguments: { min: 2, max: 2 },
  examples: ["rookery config set budgets.day.dollars 5", "rookery config set log.level debug"],
  async run(context) {
    const [key = "", value = ""] = context.args;
    explained(key);
    const { config, ...set } = await setConfigValue(context, key, await json5Of(value));
    const warning = key === "session.dmScope" ? await scopeWarning(context, config.session.dmScope) : undefined;
    const text = context.here(setText(set));
    return printResult(context, { ...set, warning }, `${text}${warning === undefined ? "" : `\nwarning: ${warning}`}`);
  },
});

/** A word that is not JSON5 is a text. */
async function json5Of(value: string): Promise<string> {
  const { default: json5 } = await import("json5");
  try {
    json5.parse(value);
    return value;
  } catch {
    return JSON.stringify(value);
  }
}

export const explainAction = defineAction({
  summary: "say what a key is, what it takes and its default; without a key list all",
  usage: "[key]",
  arguments: { min: 0, max: 1 },
  examples: ["rookery config explain gateway.port", "rookery config explain budgets"],
  run(context) {
    const [key = ""] = context.args;
    const { path, node } = explained(key);
    const keys = listed(node, path);
    const about = {
      key: path,
      description: node.description ?? null,
      type: node.type ?? null,
      default: node.default ?? null,
      values: node.enum ?? null,
    };
    const lines = [
      ...(path === "" ? [] : [`${path}${node.description ? `: ${node.description}` : ""}`]),
      ...(node.enum
        ? [`takes one of ${node.enum.map((one) => JSON.stringify(one)).join(", ")}`]
        : node.type && node.type !== "object"
          ? [`takes ${node.type === "integer" ? "a whole number" : `a ${node.type}`}`]
          : []),
      ...(node.minimum !== undefined && node.maximum !== undefined ? [`from ${node.minimum} to ${node.maximum}`] : []),
      ...(node.default === undefined || node.type === "object" ? [] : [`default: ${JSON.stringify(node.default)}`]),
      ...keys.map(({ key: name, description }) => `  ${name}${description ? `: ${description}` : ""}`),
    ];
    return printResult(context, { ...about, keys }, lines.join("\n"));
  },
});

interface SchemaNode {
  readonly description?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
}

const readSchema = (): SchemaNode =>
  JSON.parse(readFileSync(new URL("../../../config/rookery.schema.json", import.meta.url), "utf8")) as SchemaNode;

/** The part of the schema for a key. Throws with a suggestion if there is no such key. */
function explained(key: string): { readonly path: string; readonly node: SchemaNode } {
  let node = readSchema();
  const parts = key === "" ? [] : key.replaceAll("[]", ".[]").split(".");
  for (const [index, part] of parts.entries()) {
    const names = Object.keys(node.properties ?? {});
    const more = typeof node.additionalProperties === "object" ? node.additionalProperties : undefined;
    const next =
      part === "[]"
        ? node.items
        : ((Object.hasOwn(node.properties ?? {}, part) ? node.properties?.[part] : undefined) ?? more);
    if (!next) {
      const near = closestWord(part, names);
      const before = parts.slice(0, index).join(".");
      const meant = near === undefined ? "" : `Did you mean "${before === "" ? near : `${before}.${near}`}"? `;
      throw new NotFoundError(`There is no key "${key}".`, {
        hint: `${meant}\`rookery config explain\` lists the sections.`,
      });
    }
    node = next;
  }
  return { path: key, node };
}

const listed = (node: SchemaNode, path: string): readonly { readonly key: string; readonly description?: string }[] =>
  Object.entries(
    node.properties ?? (typeof node.additionalProperties === "object" ? { "<name>": node.additionalProperties } : {}),
  ).map(([name, { description }]) => ({ key: path === "" ? name : `${path}.${name}`, description }));
