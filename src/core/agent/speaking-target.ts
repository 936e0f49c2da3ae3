/** Where an agent's person is, so that what it makes of a message of another agent reaches them. */

import type { DeliveryContext } from "../delivery/delivery.ts";
import type { AgentRecord } from "./agent.ts";

/** The last route, else the first; undefined where no person speaks with it. */
export function whereItSpeaks({ descriptor, state }: AgentRecord): DeliveryContext | undefined {
  if (descriptor.type !== "user") return undefined;
  if (state.deliveryContext) return state.deliveryContext;
  const { connector, channelId, accountId, threadId } = descriptor;
  return {
    channel: connector,
    to: channelId,
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
  };
}
