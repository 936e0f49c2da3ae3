/** Where an agent's person can be reached, for the answer to a message from another agent. */

import type { DeliveryContext } from "../delivery/delivery.ts";
import type { AgentRecord } from "./agent.ts";

/** The last route, else the first; undefined if no person writes to the agent. */
export function whereItSpeaks({ descriptor, state }: AgentRecord): DeliveryContext | undefined {
  if (descriptor.type !== "user") return undefined;
  if (state.deliveryContext) return state.deliveryContext;
  const { connector, channelId, accountId, threadId } = descriptor;
  return {
    channel: connector,
    to: channelId,
    accountId,
    threadId,
  };
}
