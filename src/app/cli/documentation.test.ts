import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { GLOBAL_OPTIONS } from "./command.ts";

const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

describe("docs/cli.md", () => {
  it("lists every global flag", () => {
    for (const name of Object.keys(GLOBAL_OPTIONS)) expect(page).toContain(`\`--${name}`);
  });
});
