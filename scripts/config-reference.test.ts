import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configSchema } from "../src/config/config-schema.ts";
import { keysOf, type SchemaTree, schemaTree } from "../src/config/schema-tree.ts";
import { configFiles } from "./config-reference.ts";

const TREE = schemaTree(configSchema);
const KEYS = keysOf(TREE);

describe("the configuration's schema", () => {
  it("describes every key", () => {
    expect(KEYS.filter(({ about }) => !about.description).map(({ path }) => path)).toEqual([]);
  });

  it("lets a place that stands for the settings of another key take only those", () => {
    const whole = keysOf(TREE, true).map(({ path }) => path);
    const shared = KEYS.flatMap(({ path, about }) => (about.as === undefined ? [] : [{ path, as: about.as }]));
    expect(shared.length).toBeGreaterThan(10);
    for (const { path, as } of shared) {
      const own = whole.filter((key) => key.startsWith(`${path}.`)).map((key) => key.slice(path.length));
      expect(own.length, path).toBeGreaterThan(0);
      for (const key of own) expect(whole, path).toContain(`${as}${key.replace(/^\.<name>/, "")}`);
    }
  });
});

describe("files that are made of the schema", () => {
  it("are current: npm run tool -- config --write", () => {
    for (const [file, text] of configFiles()) expect(readFileSync(file, "utf8"), file.pathname).toBe(text);
  });
});

/** Whether a key such as `heartbeat.every` or `store.s3` leads somewhere in the schema. */
function leads(tree: SchemaTree, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  if (tree.kind === "list") return leads(tree.item, [name, ...rest]);
  if (tree.kind === "named") return leads(tree.value, rest);
  const child = tree.kind === "section" ? tree.keys.get(name) : undefined;
  return child !== undefined && leads(child, rest);
}

describe("docs/configuration.md", () => {
  const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");
  const sections = TREE.kind === "section" ? [...TREE.keys.keys()] : [];

  it("names keys that exist", () => {
    const named = [...page.matchAll(/`([a-zA-Z]+(?:\.[a-zA-Z0-9]+)+)`/g)]
      .map(([, key = ""]) => key.split("."))
      .filter(([section = ""]) => sections.includes(section));
    expect(named.length).toBeGreaterThan(5);
    for (const key of named) expect(leads(TREE, key), key.join(".")).toBe(true);
  });
});
