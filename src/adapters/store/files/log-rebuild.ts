/** Logs what a rebuild could not use: every skipped agent with its reason, and the other problems. */
import type { Log } from "../../../core/ports/log.ts";
import type { RebuildReport } from "./rebuild.ts";

/** Broken lines can be many; agents are always listed. */
const MAX_OTHERS = 100;

export function logRebuild(log: Log, { agents, entries, problems, gap }: RebuildReport): void {
  log.info("rebuilt the database from the plain files", { agents, entries, problems: problems.length, gap });
  let others = 0;
  for (const { file, line, reason, consequence } of problems) {
    if (consequence === "agent-skipped") {
      log.error("skipped an agent in the rebuild; its files were left unchanged", { file, reason });
      continue;
    }
    others += 1;
    if (others <= MAX_OTHERS) log.warn(`in the rebuild: ${consequence.replace("-", " ")}`, { file, line, reason });
  }
  if (others > MAX_OTHERS) log.warn("the rebuild found more problems", { more: others - MAX_OTHERS });
}
