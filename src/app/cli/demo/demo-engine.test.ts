/** The engine of the demo: one that does not start is told at once. */
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { DemoEngine } from "./demo-engine.ts";

it("says that its program ended at once, and leaves nothing behind", async () => {
  const engine = new DemoEngine("/nowhere/main.ts");
  await expect(engine.start()).rejects.toMatchObject({
    code: "config",
    message: expect.stringContaining("ended at once"),
  });
  await engine.close();
  expect(existsSync(engine.home)).toBe(false);
});
