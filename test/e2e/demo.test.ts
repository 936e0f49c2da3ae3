/** The demo as a person starts it: its counts are true. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { MAIN } from "../kit/terminal.ts";

it("loses and doubles no message over a real kill -9, and leaves nothing behind", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "demo"], {
    env: { ...process.env, NO_COLOR: "1" },
  });
  expect(stdout).toMatch(/kill -9 \d+ accepted, not answered/u);
  expect(stdout).toContain("Reminder: drink tea");
  expect(stdout).toContain("completed successfully");
  expect(stdout).toContain("4 runs answered them (queue)");
  expect(stdout).toMatch(/(?:one run|[23] runs) answered them \(collect\)/u);
  expect(stdout).toContain("accepted 16 · answered 15 · stopped by the budget 1 · lost 0 · doubled 0");
  expect(stdout).toContain("The budget of this agent is nearly used up");
  const home = /scratch home (\S+),/u.exec(stdout)?.[1] ?? "";
  expect(existsSync(home)).toBe(false);
});
