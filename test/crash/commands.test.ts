/** A short run of `npm run crash -- --target commands`. */
import { expect, test } from "vitest";
import { needs } from "../kit/needs.ts";
import { ALL } from "../kit/share.ts";
import { crashCommands } from "./commands/target.ts";

test(
  "commands, background processes and approvals survive two kills: nothing runs twice or without a yes",
  needs("bwrap"),
  async () => {
    const report = await crashCommands({ kills: 2, seed: "vitest", say: () => {} });
    expect(report.problems).toEqual([]);
    expect(report.counts.commands).toBeGreaterThan(0);
  },
);

test.runIf(ALL)("the audit finds an effect that leaves no record", needs("bwrap"), async () => {
  const report = await crashCommands({ kills: 0, seed: "vitest", say: () => {}, mutation: "unrecorded" });
  expect(report.problems.join("\n")).toMatch(/no row of the audit log/u);
});
