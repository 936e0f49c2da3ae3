import { expect, test } from "vitest";
import { ALL } from "../kit/share.ts";
import { scenarioNamed } from "./scenarios/scenarios.ts";
import { engine } from "./subjects/engine-subject.ts";
import { runWorld, type WorldResult } from "./world/run-world.ts";

const worldOf = (name: string, seed: number): Promise<WorldResult> =>
  runWorld({ seed, scenario: scenarioNamed(name), subject: engine });

test("the engine meets each class of error at each step", async () => {
  const met = new Set<string>();
  for (const seed of [1, 2]) {
    const { violations, counts } = await worldOf("error-steps", seed);
    expect(violations).toEqual([]);
    for (const [what, times] of Object.entries(counts)) if (times > 0) met.add(what);
  }
  for (const what of ["transient", "rate", "auth", "request", "overflow"]) {
    for (const step of [0, 1, 2]) expect(met).toContain(`${what} behind ${step} results`);
  }
  const { counts } = await worldOf("aborts", 7);
  expect(Object.keys(counts).some((what) => what.startsWith("aborted behind"))).toBe(true);
});

test("every message is answered although keys are limited and refused", async () => {
  const sums: Record<string, number> = {};
  for (const seed of ALL ? [1, 2, 3, 4, 5] : [5]) {
    const { violations, counts } = await worldOf("keys", seed);
    expect(violations).toEqual([]);
    expect(counts.failed).toBeUndefined();
    for (const [what, times] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + times;
  }
  for (const outcome of ["answered", "limited", "refused"]) expect(sums[`key ${outcome}`]).toBeGreaterThan(0);
});

test.each(ALL ? ["tree-budget", "day-budget", "budget-aborts"] : ["tree-budget"])(
  "in %s some runs end because a budget is used up and some do not",
  async (name) => {
    const { violations, counts } = await worldOf(name, 3);
    expect(violations).toEqual([]);
    expect(counts["runs over budget"]).toBeGreaterThan(0);
    expect(counts.answered).toBeGreaterThan(5);
  },
);
