/** Finds a child by its number in the list, its run id, its session key, its agent id or its label. */

import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { NotFoundError } from "../../core/errors.ts";

/** Throws if none or more than one matches. `records`: in the order of the list. */
export function findSubagentRun(records: readonly SubagentRunRecord[], who: string): SubagentRunRecord {
  const wanted = who.trim();
  const numbered = /^#?\d{1,4}$/u.test(wanted) ? records[Number(wanted.replace("#", "")) - 1] : undefined;
  if (numbered) return numbered;
  const exact = records.filter(
    ({ runId, childSessionKey, childAgentId, label }) =>
      wanted !== "" && [runId, childSessionKey, childAgentId, label].includes(wanted),
  );
  const [found] =
    exact.length > 0 ? exact : records.filter(({ runId }) => wanted.length >= 6 && runId.startsWith(wanted));
  const hint = "List the children to see their numbers and run ids.";
  if (exact.length > 1) throw new NotFoundError(`${exact.length} children are called "${wanted}".`, { hint });
  if (!found) throw new NotFoundError(`There is no child "${wanted}".`, { hint });
  return found;
}
