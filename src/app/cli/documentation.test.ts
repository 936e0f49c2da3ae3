import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actionsOf } from "./choose-action.ts";
import { GLOBAL_OPTIONS } from "./command.ts";
import { REGISTRY } from "./registry.ts";

const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

describe("docs/cli.md", () => {
  it("lists every command and action", async () => {
    for (const [name, { load }] of Object.entries(REGISTRY)) {
      for (const [call] of actionsOf(name, await load()))
        expect(page, call).toMatch(new RegExp(`^\\| \`rookery ${call}[ \`]`, "m"));
    }
  });

  it("lists every global flag", () => {
    for (const name of Object.keys(GLOBAL_OPTIONS)) expect(page).toContain(`\`--${name}`);
  });
});
