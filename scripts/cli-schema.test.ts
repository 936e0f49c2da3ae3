import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CLI_SCHEMA_FILE, cliSchemaText } from "./cli-schema.ts";

it("the JSON schema of what commands print is up to date: npm run cli-schema -- --write", () => {
  expect(readFileSync(CLI_SCHEMA_FILE, "utf8")).toBe(cliSchemaText());
}, 60_000);
