/** A short run of `npm run crash -- --target engine`. With all proofs: the audit detects mutations. */
import { expect, test } from "vitest";
import { ALL } from "../kit/share.ts";
import { crashEngine } from "./engine/target.ts";

test("an engine that is killed again and again loses nothing and answers nothing twice", async () => {
  const report = await crashEngine({ say: () => {}, kills: ALL ? 4 : 2, seed: "vitest" });
  expect(report.problems).toEqual([]);
  expect(report.counts["runs in flight at a kill, least"]).toBeGreaterThanOrEqual(20);
  expect(report.counts["kills during a tool"]).toBeGreaterThanOrEqual(1);
});

test.runIf(ALL).each([
  ["tool-again", /must not be repeated and was executed/],
  ["send-again", /shown \d+ times on an ambiguous channel/],
] as const)("the audit detects the mutation %s", async (mutation, problem) => {
  const found = await crashEngine({ say: () => {}, kills: 6, seed: mutation, mutation });
  expect(found.problems.join("\n")).toMatch(problem);
});
