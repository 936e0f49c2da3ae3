/** The tools that an agent has found in its session: its model is sent them besides the usual ones. */
import type { AgentState } from "./state.ts";

/** The oldest are left out beyond this, so that a search cannot fill the context. */
const MAX_FOUND_TOOLS = 12;

/** The state with these tools found last; undefined if nothing changes. */
export function stateWithFound(state: AgentState, found: readonly string[]): AgentState | undefined {
  const before = state.foundTools ?? [];
  if (found.every((name) => before.includes(name))) return undefined;
  const after = [...before.filter((name) => !found.includes(name)), ...new Set(found)];
  return { ...state, foundTools: after.slice(-MAX_FOUND_TOOLS) };
}
