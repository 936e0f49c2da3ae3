/** Finds the waiting messages whose handling keeps failing (M48), from what the store has: an engine need not run. */
import type { AgentRecord } from "../agent/agent.ts";
import type { FailingMessage } from "../agent/diagnosis.ts";
import { CorruptDataError } from "../errors.ts";
import { agentArgument } from "../typed-name.ts";
import type { StoreReader } from "./store.ts";

/** A message that fails holds the later ones back, so it is among the first. */
const FIRST = 8;

/** One read for each of these agents on which a message waits. `nameOf`: asked for those with a failing one. */
export async function failingMessages(
  store: Pick<StoreReader, "waiting">,
  agents: readonly AgentRecord[],
  nameOf: (agent: AgentRecord) => Promise<string>,
): Promise<readonly FailingMessage[]> {
  const failing: FailingMessage[] = [];
  for (const agent of agents) {
    const { id: agentId, sessionKey, waiting } = agent;
    if (waiting === 0) continue;
    const first = await store.waiting(agentId, { limit: FIRST }).catch((error) => {
      // Such an agent could not be restored, and is listed as that.
      if (error instanceof CorruptDataError) return [];
      throw error;
    });
    for (const { seq, body, tried } of first)
      if (tried) failing.push({ agentId, sessionKey, agentName: await nameOf(agent), seq, kind: body.kind, ...tried });
  }
  return failing;
}

export const failingText = ({ agentName, seq, kind, times, reason }: FailingMessage): string =>
  `Message ${seq} (${kind}) of ${agentName} failed ${times} ${times === 1 ? "time" : "times"}: ${reason}`;

export const failingHelp = ({ agentId, agentName, seq }: FailingMessage): string =>
  `It is tried again by itself; \`rookery agents inbox ${agentArgument({ id: agentId, name: agentName })} --drop ${seq}\` drops it.`;
