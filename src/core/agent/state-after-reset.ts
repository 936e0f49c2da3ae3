/** What becomes of an agent's state when a new session begins: what a person chose stays, what counted the old one goes. */
import type { AgentState } from "./state.ts";

/** Speaks of the session that ended. `stats` counts the agent's life and stays; so does every override. */
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
  "sessionFile",
] as const satisfies readonly (keyof AgentState)[];

export function stateAfterReset(state: AgentState, at: number): AgentState {
  const kept: Record<string, unknown> = { ...state };
  for (const field of OF_A_SESSION) delete kept[field];
  // A key that was chosen by itself was chosen for the old session's cache.
  if (state.authProfileOverrideSource === "auto") {
    delete kept.authProfileOverride;
    delete kept.authProfileOverrideSource;
  }
  return { ...(kept as AgentState), tokens: null, updatedAt: at };
}
