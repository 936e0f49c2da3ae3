/**
 * Texts around a reply, if the agent's state asks for them: the model's reasoning before it, the run's usage after it.
 * Neither is part of the history or of the run's result.
 */

import type { AgentState } from "../../core/agent/state.ts";
import { cutText } from "../../core/cut-text.ts";
import type { Usage } from "../../core/history/entry.ts";

export interface AroundReply {
  /** A separate message before the reply. */
  readonly before?: string;
  /** The last line of the reply. */
  readonly behind?: string;
}

export interface RunFacts {
  /** The model's thinking, if its provider shows it. */
  readonly reasoning?: string;
  readonly usage?: Usage;
  readonly sessionKey: string;
}

export function aroundReply(
  { reasoningLevel, responseUsage }: Pick<AgentState, "reasoningLevel" | "responseUsage">,
  { reasoning, usage, sessionKey }: RunFacts,
): AroundReply {
  const before =
    reasoningLevel === "on" || reasoningLevel === "reasoning" ? formatReasoningMessage(reasoning ?? "") : "";
  const line = responseUsage === undefined || responseUsage === "off" || !usage ? "" : usageLine(usage);
  const behind = line !== "" && responseUsage === "full" ? `${line} · session ${sessionKey}` : line;
  return { before: before || undefined, behind: behind || undefined };
}

/** More than a person reads. */
const MAX_REASONING = 200_000;

/** Each line in italics separately: some channels do not show italics over several lines. */
export function formatReasoningMessage(text: string): string {
  const whole = text.trim();
  if (whole === "") return "";
  const trimmed = whole.length > MAX_REASONING ? `${cutText(whole, MAX_REASONING)}…` : whole;
  const lines = trimmed.split("\n").map((line) => (line === "" ? line : `_${line}_`));
  return `Reasoning:\n${lines.join("\n")}`;
}

function usageLine({ input, output, cost }: Usage): string {
  const price = cost && cost.total > 0 ? ` · est ${formatUsd(cost.total)}` : "";
  return `Usage: ${formatTokenCount(input)} in / ${formatTokenCount(output)} out${price}`;
}

export function formatTokenCount(count: number): string {
  const safe = Number.isFinite(count) ? Math.max(0, count) : 0;
  if (safe >= 1_000_000) return `${(safe / 1_000_000).toFixed(1)}m`;
  if (safe >= 1_000) return `${(safe / 1_000).toFixed(safe >= 10_000 ? 0 : 1)}k`;
  return String(Math.round(safe));
}

const formatUsd = (amount: number): string => `$${amount.toFixed(amount >= 0.01 ? 2 : 4)}`;
