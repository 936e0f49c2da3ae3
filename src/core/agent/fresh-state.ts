/** The state of an agent that was just made. Without the schema library: the store needs this of the state and nothing else. */
import type { AgentState } from "./state.ts";

export const STATE_VERSION = 1;

export const freshState = (at: number): AgentState => ({
  version: STATE_VERSION,
  createdAt: at,
  updatedAt: at,
  tokens: null,
  stats: {},
  providerId: null,
});
