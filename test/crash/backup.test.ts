/** `npm run crash -- --target backup`, with all proofs. */
import { expect, test } from "vitest";
import { ALL } from "../kit/share.ts";
import { crashBackup } from "./backup/target.ts";

test.runIf(ALL)("leaves the old or the new state if a backup, restore, migration or erasure is killed", async () => {
  const report = await crashBackup({ kills: 1, say: () => {} });
  expect(report.problems).toEqual([]);
  expect(report.counts.kills).toBe(4);
});
