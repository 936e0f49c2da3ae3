import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configSchema } from "../src/config/config-schema.ts";
import { keyPaths, schemaTree } from "../src/config/schema-tree.ts";
import {
  configJsonSchema,
  DEFAULTS_FILE,
  defaultsText,
  describedKeys,
  SCHEMA_FILE,
  schemaText,
} from "./config-schema.ts";

const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");

describe("the JSON schema of the configuration", () => {
  it("is up to date: npm run tool -- schema --write", () => {
    expect(readFileSync(SCHEMA_FILE, "utf8")).toBe(schemaText());
    expect(readFileSync(DEFAULTS_FILE, "utf8")).toBe(defaultsText());
  });

  it("describes every key with the text of the page", () => {
    const described = describedKeys(page);
    for (const key of keyPaths(schemaTree(configSchema))) expect(described.has(key), key).toBe(true);
    const text = JSON.stringify(configJsonSchema());
    expect(text).toContain(JSON.stringify(described.get("gateway.port")));
  });
});
