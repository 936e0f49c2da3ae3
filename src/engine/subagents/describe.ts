/** Children as text for people and models: one line each. */

import type { SubagentRunRecord } from "../../core/agent/subagent-run.ts";
import { shortened } from "../../core/cut-text.ts";
import type { RunRecord } from "../../core/run/run.ts";
import { formatDuration, statusLabel } from "./report-text.ts";

const LINE = 80;

const oneLine = (text: string): string => {
  return shortened(text.replace(/\s+/gu, " ").trim(), LINE);
};

export const nameOf = ({ label, task }: SubagentRunRecord): string => oneLine(label || task);

/** The state of a child as text. */
export function stateOf({ endedAt, outcome }: SubagentRunRecord, run: RunRecord | undefined): string {
  if (endedAt !== undefined) return outcome ? statusLabel(outcome) : "ended";
  return run ? "working" : "waiting";
}

export function describeSubagentRuns(
  records: readonly SubagentRunRecord[],
  runs: ReadonlyMap<string, RunRecord>,
  now: number,
): string {
  if (records.length === 0) return "No children.";
  const lines = records.map((record, index) => {
    const { runId, createdAt, startedAt, endedAt } = record;
    const run = runs.get(runId);
    const since = run?.startedAt ?? startedAt ?? createdAt;
    const took = formatDuration((endedAt ?? now) - since);
    return `${index + 1}. ${nameOf(record)}: ${stateOf(record, run)} (${took})`;
  });
  const open = records.filter(({ endedAt }) => endedAt === undefined).length;
  return [`${open} at work, ${records.length - open} ended.`, ...lines].join("\n");
}
