import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

it("an engine is opened in one place, and its gateway in one place", () => {
  const callers = (call: RegExp): string[] =>
    readdirSync(ROOT, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/\.test(-kit)?\.ts$/.test(file))
      .filter((file) => call.test(readFileSync(join(ROOT, file), "utf8")))
      .sort();
  expect(callers(/(?<!function )\bopenNode\(/)).toEqual(["app/library/open-engine.ts"]);
  // A command without a running engine serves the same routes on an engine that does no work.
  expect(callers(/(?<!function )\bserveHere\(/)).toEqual([
    "app/cli/client/open-local.ts",
    "app/library/open-engine.ts",
  ]);
  expect(callers(/(?<!function )\bcreateContext\(/)).toEqual(["app/gateway/in-process/serve-here.ts"]);
});
