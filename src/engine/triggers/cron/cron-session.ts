/** The session of an isolated job: a new one for each run, with the settings of the main conversation. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import { stateAfterReset } from "../../../core/agent/state-after-reset.ts";
import type { Message } from "../../../core/message/message.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { mainKeyOf } from "./job-message.ts";

/** The inherited settings. Nothing of the conversation itself is inherited. */
const INHERITED = [
  "thinkingLevel",
  "verboseLevel",
  "reasoningLevel",
  "providerOverride",
  "modelOverride",
  "authProfileOverride",
  "skillsSnapshot",
  "sendPolicy",
] as const satisfies readonly (keyof AgentState)[];

/** The state a cron run begins with. `isNewSession` is always true: no earlier run is in its context. */
export function resolveCronSession(params: {
  readonly state: AgentState;
  readonly main: AgentState | undefined;
  readonly nowMs: number;
}): { readonly sessionEntry: AgentState; readonly isNewSession: true } {
  const entry: Record<string, unknown> = { ...stateAfterReset(params.state, params.nowMs) };
  for (const name of INHERITED) {
    const value = params.main?.[name];
    if (value === undefined) delete entry[name];
    else entry[name] = value;
  }
  return { sessionEntry: entry as AgentState, isNewSession: true };
}

/**
 * The state of the new session for a run of a job's own agent or the heartbeat's agent, so that no run pays for an earlier
 * one; undefined for every other run.
 */
export async function cronSessionFor(
  store: StoreReader,
  agent: AgentRecord,
  messages: readonly Message[],
  nowMs: number,
  mainKey?: string,
): Promise<AgentState | undefined> {
  const body = messages.at(-1)?.body;
  const { type } = agent.descriptor;
  if ((type !== "cron" && type !== "heartbeat") || body?.kind !== "trigger") return undefined;
  const job = await store.job(body.trigger.id);
  const main = await store.agentByKey(mainKeyOf(job ?? { agentId: agent.profile }, mainKey));
  return resolveCronSession({ state: agent.state, main: main?.state, nowMs }).sessionEntry;
}
