/** A bounded share of `npm run crash -- --target store`, and the proof that its audit can fail. */
import { expect, test } from "vitest";
import { crashStore } from "./store/target.ts";

test("a store that is killed ten times has everything it acknowledged", async () => {
  const report = await crashStore({ kills: 10, seed: "vitest", say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.kills).toBe(10);
  expect(report.counts["promises kept"]).toBeGreaterThan(1_000);
  expect(report.counts["runs resumed"]).toBeGreaterThan(0);
  expect(report.counts["committed but never reported"]).toBeGreaterThan(0);
});

test("a store that acknowledges before it commits is found out", async () => {
  const report = await crashStore({ kills: 10, seed: "mutation", say: () => {}, mutation: "ack-early" });
  // Missing, or in its place another that got the same number.
  expect(report.problems.join("\n")).toMatch(/was acknowledged and is missing|is not where it was said to be/);
});
