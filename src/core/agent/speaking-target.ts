/** Where an agent's person can be reached, for the answer to a message from another agent. */

import type { DeliveryContext } from "../delivery/delivery.ts";
import { TERMINAL_CHANNEL } from "../delivery/route.ts";
import type { AgentRecord } from "./agent.ts";

/** The last route, else the first; undefined if no person writes to the agent. */
export function whereItSpeaks({ descriptor, state, lastHumanAt }: AgentRecord): DeliveryContext | undefined {
  if (descriptor.type !== "user") return undefined;
  if (state.deliveryContext) return state.deliveryContext;
  const { connector, channelId, accountId, threadId } = descriptor;
  // A main conversation that a trigger has begun names the terminal, where no one may ever look.
  if (connector === TERMINAL_CHANNEL && lastHumanAt === undefined) return undefined;
  return {
    channel: connector,
    to: channelId,
    accountId,
    threadId,
  };
}
