/** A short run of `npm run crash -- --target commands`. */
import { expect, test } from "vitest";
import { crashCommands } from "./commands/target.ts";

test("commands, background processes and approvals survive two kills: nothing runs twice or without a yes", async () => {
  const report = await crashCommands({ kills: 2, seed: "vitest", say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.commands).toBeGreaterThan(0);
});

test("the audit detects commands that are repeated after a crash", async () => {
  const { problems } = await crashCommands({ kills: 4, seed: "again", mutation: "exec-again", say: () => {} });
  expect(problems.join("\n")).toMatch(/L4: the command of t\d+ ran \d+ times/);
});
