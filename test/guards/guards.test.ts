import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { GUARDS } from "./guards.ts";
import { withoutGuard } from "./try-guards.ts";

const ROOT = join(import.meta.dirname, "../..");

it.each(GUARDS.map((guard) => [guard.name, guard] as const))("finds the guard and the test of: %s", (_, guard) => {
  const text = readFileSync(join(ROOT, guard.file), "utf8");
  expect(withoutGuard(text, guard), guard.file).toBeDefined();
  expect(withoutGuard(text, guard)).not.toBe(text);
  expect(existsSync(join(ROOT, guard.test)), guard.test).toBe(true);
});
