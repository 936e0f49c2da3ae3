/** A short run of `npm run crash -- --target store`. With all proofs: the audit detects a mutation. */
import { expect, test } from "vitest";
import { ALL } from "../kit/share.ts";
import { crashStore } from "./store/target.ts";

test("a store that is killed again and again keeps everything it acknowledged", async () => {
  const kills = ALL ? 10 : 3;
  const report = await crashStore({ kills, seed: "vitest", say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.kills).toBe(kills);
  expect(report.counts["promises kept"]).toBeGreaterThan(100 * kills);
  expect(report.counts["runs resumed"]).toBeGreaterThan(0);
  if (ALL) expect(report.counts["committed but never reported"]).toBeGreaterThan(0);
});

test.runIf(ALL)("the audit detects a store that acknowledges before it commits", async () => {
  const report = await crashStore({ kills: 10, seed: "mutation", say: () => {}, mutation: "ack-early" });
  // The message is missing, or another one has its number.
  expect(report.problems.join("\n")).toMatch(/was acknowledged and is missing|is not where it was said to be/);
});
