/** The fields of an agent's state that may be set from outside. `patch-state.ts` checks their values; the engine itself writes all others. */
import type { AgentState } from "./state.ts";

export const SETTABLE_FIELDS = [
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "elevatedLevel",
  "execHost",
  "execSecurity",
  "execAsk",
  "execNode",
  "providerOverride",
  "modelOverride",
  "authProfileOverride",
  "authProfileOverrideSource",
  "groupActivation",
  "sendPolicy",
  "queueMode",
  "queueDebounceMs",
  "queueCap",
  "queueDrop",
  "label",
  "displayName",
  "responseUsage",
  "rules",
  "extraSystemPrompt",
] as const satisfies readonly (keyof AgentState)[];

export type SettableField = (typeof SETTABLE_FIELDS)[number];
