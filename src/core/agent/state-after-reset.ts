/** An agent's state in a new session: choices of a person stay, counters of the old session are cleared. */
import type { AgentState } from "./state.ts";

/** Fields about the old session. `stats` counts over the agent's life and stays, as do all overrides. */
const OF_A_SESSION = [
  "systemSent",
  "lastInteractionAt",
  "abortedLastRun",
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "compactionCount",
  "memoryFlushAt",
  "memoryFlushCompactionCount",
  "authProfileOverrideCompactionCount",
  "cliSessionIds",
  "claudeCliSessionId",
  "systemPromptReport",
  "skillsSnapshot",
  "sessionFile",
  "foundTools",
  "speakers",
  "untrusted",
] as const satisfies readonly (keyof AgentState)[];

export function stateAfterReset(state: AgentState, at: number): AgentState {
  const kept: Record<string, unknown> = { ...state };
  for (const field of OF_A_SESSION) delete kept[field];
  // A key that was chosen automatically belongs to the old session's cache.
  if (state.authProfileOverrideSource === "auto") {
    delete kept.authProfileOverride;
    delete kept.authProfileOverrideSource;
  }
  return { ...(kept as AgentState), tokens: null, updatedAt: at };
}
