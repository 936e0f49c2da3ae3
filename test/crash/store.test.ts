/** A short run of `npm run crash -- --target store`, and a mutation that its audit must find. */
import { expect, test } from "vitest";
import { crashStore } from "./store/target.ts";

test("a store that is killed ten times keeps everything it acknowledged", async () => {
  const report = await crashStore({ kills: 10, seed: "vitest", say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.kills).toBe(10);
  expect(report.counts["promises kept"]).toBeGreaterThan(1_000);
  expect(report.counts["runs resumed"]).toBeGreaterThan(0);
  expect(report.counts["committed but never reported"]).toBeGreaterThan(0);
});

test("the audit detects a store that acknowledges before it commits", async () => {
  const report = await crashStore({ kills: 10, seed: "mutation", say: () => {}, mutation: "ack-early" });
  // The message is missing, or another one has its number.
  expect(report.problems.join("\n")).toMatch(/was acknowledged and is missing|is not where it was said to be/);
});
