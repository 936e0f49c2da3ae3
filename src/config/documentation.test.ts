import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configDefaults, configSchema } from "./config-schema.ts";
import { START_KEYS } from "./live-keys.ts";
import { keyPaths, schemaTree } from "./schema-tree.ts";

const page = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");
const documented = new Map(
  [...page.matchAll(/^\| `([^`]+)` +\| (.*?) +\|/gm)]
    .map(([, key, value]) => [key ?? "", value ?? ""] as const)
    .filter(
      ([key]) =>
        /^\$schema$|^[a-zA-Z]+(?:\[\])?\./.test(key) &&
        !["rookery.json5", "rookery.db", "auth.json", "logins.json", "tokens.json"].includes(key),
    ),
);

describe("docs/configuration.md", () => {
  it("has every key of the schema in its table, and no other", () => {
    expect([...documented.keys()].sort()).toEqual([...keyPaths(schemaTree(configSchema))].sort());
  });

  it("names every key that needs a restart", () => {
    const section = page.slice(page.indexOf("## While the program runs"), page.indexOf("## Keys"));
    for (const key of Object.keys(START_KEYS)) expect(section).toContain(`\`${key}\``);
  });

  it("states the actual defaults", () => {
    const { provider, model, connector, mcpServer, ...sections } = configDefaults;
    const leaves = (value: unknown, path: string): readonly (readonly [string, unknown])[] =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([key, child]) => leaves(child, path === "" ? key : `${path}.${key}`))
        : [[path, value]];
    const defaults = [
      ...leaves(sections, ""),
      ...leaves(provider, "models.providers.<name>"),
      ...leaves(model, "models.providers.<name>.models[]"),
      ...leaves(connector, "connectors.<name>"),
      ...leaves(mcpServer, "mcp.servers.<name>"),
    ];
    expect(defaults.length).toBeGreaterThan(25);
    for (const [key, value] of defaults) expect(documented.get(key), key).toBe(`\`${JSON.stringify(value)}\``);
  });
});
