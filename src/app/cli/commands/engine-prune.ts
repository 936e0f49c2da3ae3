/** `rookery engine prune`: shows what is old and can be removed, asks, and removes it. */
import type { PruneReport } from "../../operations/prune/prune.ts";
import { sizeText } from "../../operations/size-text.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { numberFlag } from "../number-flag.ts";
import { printResult } from "../print.ts";
import { progressOf } from "../progress.ts";

export const prune = defineAction({
  summary: "remove ended rows and files that nothing needs, by their age",
  description:
    "Rows: settled messages, ended deliveries, details of ended runs, ended questions, past due times, expired keys. Files: copies from before a migration, databases and homes that were replaced, agents set aside, rotated logs, leftovers. The engine removes old rows every hour by the ages of `retention` in the configuration; --days takes another age. Open work, conversations and backups stay. It shows what it would remove and asks.",
  options: {
    days: { type: "string", value: "N", description: "remove what is older than N days" },
    "dry-run": { type: "boolean", description: "only show what would be removed" },
    compact: { type: "boolean", description: "then give the space back to the disk; the engine stops for that time" },
    yes: { type: "boolean", description: "do not ask" },
  },
  examples: [
    "rookery engine prune --dry-run",
    "rookery engine prune --days 30 --compact",
    "rookery engine prune --yes",
  ],
  async run(context) {
    const { flags, json, stdout, stderr } = context;
    const days = numberFlag(flags.days, "--days", { min: 1 });
    const asked = (body: object): Promise<PruneReport> =>
      withApi(context, async (api) => (await api.ask({ method: "POST", path: "/api/prune", body })) as PruneReport);
    using progress = progressOf(context);
    progress.step("Looking for what is old.");
    const found = await asked({ days, dryRun: true });
    if (flags["dry-run"]) return printResult(context, found, textOf(found, "Would be removed:"));
    if (found.items.length === 0 && !flags.compact) return printResult(context, found, "Nothing is old enough.");
    if (!flags.yes) {
      if (!json && stdout.isTTY) stderr.write(`${textOf(found, "Will be removed:")}\n`);
      if (!(await confirmed(context, "Remove it? This cannot be undone.", "--yes"))) return 1;
    }
    progress.step(flags.compact ? "Removing it, and compacting the database." : "Removing it.");
    const done = await asked({ days, compact: flags.compact === true });
    return printResult(context, done, textOf(done, "Removed:"));
  },
});

function textOf({ items, compacted }: PruneReport, head: string): string {
  if (items.length === 0)
    return compacted ? "Nothing is old enough. The database was compacted." : "Nothing is old enough.";
  const lines = items.map(({ what, count, bytes, olderThanDays }) => {
    const size = bytes === undefined ? "" : ` (${sizeText(bytes)})`;
    return `  ${String(count).padStart(8)}  ${what}${size}${olderThanDays > 0 ? `, older than ${olderThanDays} days` : ""}`;
  });
  return [head, ...lines, ...(compacted ? ["The database was compacted."] : [])].join("\n");
}
