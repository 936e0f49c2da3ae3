/** Finds the waiting messages whose handling keeps failing (M48), from what the store has: an engine need not run. */
import type { AgentRecord } from "../agent/agent.ts";
import type { FailingMessage } from "../agent/diagnosis.ts";
import { CorruptDataError } from "../errors.ts";
import type { StoreReader } from "./store.ts";

/** A message that fails holds the later ones back, so it is among the first. */
const FIRST = 8;

/** One read for each of these agents on which a message waits. */
export async function failingMessages(
  store: Pick<StoreReader, "waiting">,
  agents: readonly Pick<AgentRecord, "id" | "sessionKey" | "waiting">[],
): Promise<readonly FailingMessage[]> {
  const failing: FailingMessage[] = [];
  for (const { id: agentId, sessionKey, waiting } of agents) {
    if (waiting === 0) continue;
    const first = await store.waiting(agentId, { limit: FIRST }).catch((error) => {
      // Such an agent could not be restored, and is listed as that.
      if (error instanceof CorruptDataError) return [];
      throw error;
    });
    for (const { seq, body, tried } of first)
      if (tried) failing.push({ agentId, sessionKey, seq, kind: body.kind, ...tried });
  }
  return failing;
}

export const failingText = ({ sessionKey, seq, kind, times, reason }: FailingMessage): string =>
  `Message ${seq} (${kind}) of ${sessionKey} failed ${times} ${times === 1 ? "time" : "times"}: ${reason}`;

export const failingHelp = ({ sessionKey, seq }: FailingMessage): string =>
  `It is tried again by itself; \`rookery agents inbox ${sessionKey} --drop ${seq}\` drops it.`;
