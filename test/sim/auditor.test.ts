/** The auditor shares no code with what it judges; a look at its imports proves it. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("the auditor and its evidence import nothing but types from the program", () => {
  for (const file of [
    "auditor.ts",
    "audit-view.ts",
    "audit-runs.ts",
    "audit-context.ts",
    "audit-sessions.ts",
    "evidence.ts",
    "tokens.ts",
  ]) {
    const text = readFileSync(new URL(file, import.meta.url), "utf8");
    const imports = [...text.matchAll(/^import (.*?) from "(.*?)";$/gms)];
    for (const [, what = "", from = ""] of imports) {
      if (from.includes("/src/")) expect(what.startsWith("type "), `${file} imports ${from}`).toBe(true);
    }
  }
});
