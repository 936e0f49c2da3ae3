/** A short run of `npm run crash -- --target engine`, and mutations that its audit must find. */
import { expect, test } from "vitest";
import { crashEngine } from "./engine/target.ts";

test("an engine that is killed four times loses nothing and answers nothing twice", async () => {
  const report = await crashEngine({ kills: 4, seed: "vitest", say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts["runs in flight at a kill, least"]).toBeGreaterThanOrEqual(20);
  expect(report.counts["kills during a tool"]).toBeGreaterThanOrEqual(2);
});

test.each([
  ["tool-again", /must not be repeated and was executed/],
  ["send-again", /shown \d+ times on an ambiguous channel/],
] as const)("the audit detects the mutation %s", async (mutation, problem) => {
  const found = await crashEngine({ kills: 6, seed: mutation, say: () => {}, mutation });
  expect(found.problems.join("\n")).toMatch(problem);
});
