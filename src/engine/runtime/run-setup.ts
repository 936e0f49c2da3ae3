/**
 * What a run works with, resolved once: its limits when it is taken or resumed, the rest before its first model call. A
 * configuration that is loaded again applies from the next run on.
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import type { SystemPromptReport } from "../../core/agent/system-prompt-report.ts";
import type { ContextLimits, Thresholds } from "../../core/history/compaction-settings.ts";
import type { RunOverrides } from "../../core/message/run-overrides.ts";
import type { ModelChoice, ModelTool } from "../../core/ports/model.ts";
import type { RunPorts, RunSettings } from "./run-ports.ts";

/** How large a context may become with the model that answers. */
export interface ContextBounds {
  readonly limits: ContextLimits;
  readonly thresholds: Thresholds;
}

export interface RunSetup extends ContextBounds {
  readonly choice: ModelChoice;
  readonly system: string;
  /** The parts of `system`. */
  readonly report?: SystemPromptReport;
  readonly tools: readonly ModelTool[];
  /** Estimated tokens of `system` and `tools`. */
  readonly overhead: number;
}

export type RunTime = Pick<RunSettings, "timeoutMs" | "maxIterations">;

/** How long a run and how many turns it may take: its message decides, then its agent's profile, then the node. */
export function runTimeOf(
  { settings, limits }: Pick<RunPorts, "settings" | "limits">,
  agent: AgentRecord,
  overrides?: RunOverrides,
): RunTime {
  const own = limits?.(agent);
  const seconds = overrides?.timeoutSeconds;
  return {
    timeoutMs: seconds === undefined ? (own?.timeoutMs ?? settings.timeoutMs) : seconds * 1000,
    maxIterations: own?.maxIterations ?? settings.maxIterations,
  };
}
