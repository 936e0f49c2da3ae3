/** What people read before a skill is installed or replaced: from where, its tools, its files, and every difference. */
import type { InstallReport, SkillSource } from "../../core/agent/skill-listing.ts";
import { sizeText } from "../operations/size-text.ts";
import { oneLine, printable } from "./plain-text.ts";

export function reviewText(report: InstallReport, source: SkillSource): string {
  const { name, description, tools, hash, before, changedByHand, files, warnings } = report;
  const commit = source.commit === undefined ? "" : `, commit ${source.commit.slice(0, 12)}`;
  return [
    `${before === null ? "New skill" : "Changes of the skill"} ${name}: ${oneLine(description, 1_024)}`,
    `  from ${source.kind} ${oneLine(source.at, 300)}${commit}`,
    `  tools: ${tools === null ? "no limit of its own" : oneLine(tools.join(", "), 500) || "none"}`,
    `  content ${hash.slice(0, 16)}${before === null ? "" : ` instead of ${before.slice(0, 16)}`}`,
    ...files.map(
      ({ path, is, bytes }) => `  ${is} ${oneLine(path, 200)}${is === "removed" ? "" : `, ${sizeText(bytes)}`}`,
    ),
    ...warnings.map((one) => `  WARNING: ${oneLine(one, 300)}.`),
    ...(changedByHand ? ["  WARNING: the skill in the home was changed by hand. This replaces those changes."] : []),
    "",
    ...files.flatMap(({ path, is, diff }) =>
      diff === null ? [`${oneLine(path, 200)}: ${is}, cannot be shown as text`, ""] : [printable(diff), ""],
    ),
  ].join("\n");
}
