/**
 * The text of a report: what a child found or why it failed, and what it cost. Pure. The lines are clawdbot's; the failed form
 * has daycare's line.
 */

import type { SubagentRunOutcome } from "../../core/agent/subagent-run.ts";
import { formatUsd } from "../../core/cost-text.ts";
import type { Usage } from "../../core/history/entry.ts";

/** A child that answers with this alone is recorded and not announced. */
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";
const NO_OUTPUT = "(no output)";
const DEFAULT_TASK_LABEL = "background task";

interface ReportParts {
  readonly label?: string;
  readonly task?: string;
  readonly outcome: SubagentRunOutcome;
  readonly reply?: string;
  /** Daycare's line, if the child failed. */
  readonly failure?: string;
  readonly stats: string;
}

/** The message to the requester: asks it to summarise the findings for the person, or to stay silent. */
export function buildTriggerMessage({ label, task, outcome, reply, failure, stats }: ReportParts): string {
  const taskLabel = label || task || DEFAULT_TASK_LABEL;
  const findings = [failure, reply?.trim()].filter(Boolean).join("\n\n");
  return [
    `A background task "${taskLabel}" just ${statusLabel(outcome)}.`,
    "",
    "Findings:",
    findings || NO_OUTPUT,
    "",
    stats,
    "",
    "Summarize this naturally for the user. Keep it brief (1-2 sentences).",
    "Do not mention technical details like tokens, stats, or that this was a background task.",
    "You can respond with NO_REPLY if no announcement is needed.",
  ].join("\n");
}

export function statusLabel({ status, error }: SubagentRunOutcome): string {
  switch (status) {
    case "ok":
      return "completed successfully";
    case "timeout":
      return "timed out";
    case "error":
      return `failed: ${error || "unknown error"}`;
    case "unknown":
      return "finished with unknown status";
  }
}

/** Daycare's text about a failed child. */
export function subagentFailureText(child: { name: string; id: string }, reason: string, error?: string): string {
  return `Subagent ${child.name} (${child.id}) failed: ${reason}${error ? ` (${error})` : ""}.`;
}

interface StatsParts {
  readonly runtimeMs?: number;
  readonly usage?: Pick<Usage, "input" | "output" | "totalTokens" | "cost" | "unknown">;
  readonly sessionKey: string;
  readonly sessionId?: string;
  readonly transcript?: string;
}

export function buildStatsLine({ runtimeMs, usage, sessionKey, sessionId, transcript }: StatsParts): string {
  const parts = [
    `runtime ${formatDuration(runtimeMs)}`,
    ...(usage ? usageParts(usage) : ["tokens n/a"]),
    `sessionKey ${sessionKey}`,
    ...(sessionId ? [`sessionId ${sessionId}`] : []),
    ...(transcript ? [`transcript ${transcript}`] : []),
  ];
  return `Stats: ${parts.join(" • ")}`;
}

/** A total and a price without one of the counts would be too low. */
function usageParts({
  input,
  output,
  totalTokens,
  cost,
  unknown = [],
}: NonNullable<StatsParts["usage"]>): readonly string[] {
  const shown = (count: number, isUnknown: boolean): string => (isUnknown ? "n/a" : formatTokens(count));
  const inside = `in ${shown(input, unknown.includes("input"))} / out ${shown(output, unknown.includes("output"))}`;
  const tokens = `tokens ${shown(totalTokens, unknown.length > 0)} (${inside})`;
  if (unknown.length > 0) return [tokens, "est n/a"];
  return cost === undefined ? [tokens] : [tokens, `est ${formatUsd(cost.total)}`];
}

/** `1h5m`, `2m30s`, `12s`, or `n/a` if unknown. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) return "n/a";
  const total = Math.round(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  if (hours > 0) return `${hours}h${minutes}m`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** `1.2m`, `1.2k`, `800`. */
function formatTokens(count: number): string {
  if (!Number.isFinite(count)) return "0";
  if (count >= 1_000_000) return `${(count / 1_000_000).toFixed(1)}m`;
  return count >= 1_000 ? `${(count / 1_000).toFixed(1)}k` : String(Math.round(count));
}
