/** An agent's state after a model call: its usage counted, and what its prompt was made of, where that changed. */

import type { AgentState } from "../../core/agent/state.ts";
import type { ModelResult } from "../../core/ports/model.ts";
import { callFacts } from "../../core/run/session-facts.ts";
import type { LiveRun } from "../runtime/live-run.ts";
import { countUsage } from "../runtime/usage.ts";

export function stateAfterCall(
  state: AgentState,
  { promptReport }: Pick<LiveRun, "promptReport">,
  result: ModelResult,
): AgentState {
  const counted = { ...countUsage(state, result), ...callFacts(result) };
  const isNew = promptReport && JSON.stringify(promptReport) !== JSON.stringify(state.systemPromptReport);
  return isNew ? { ...counted, systemPromptReport: promptReport } : counted;
}
