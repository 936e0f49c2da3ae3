/** A short run of `npm run crash -- --target backup`. */
import { expect, test } from "vitest";
import { crashBackup } from "./backup/target.ts";

test("a backup, a restore, a migration and the forgetting of a person that are killed leave the old state or the new one", async () => {
  const report = await crashBackup({ kills: 1, say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.kills).toBe(4);
});
