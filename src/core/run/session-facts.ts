/**
 * Fields of a state that follow from something else and are kept for people, listings and policies: what conversation it
 * is, where the last message came from, what the last call counted. Each is written whole by the one function here.
 */

import type { AgentDescriptor } from "../agent/descriptor.ts";
import type { SessionChatType } from "../agent/session-entry.ts";
import type { AgentState } from "../agent/state.ts";
import type { DeliveryContext } from "../delivery/delivery.ts";
import type { Usage } from "../history/entry.ts";

type Facts = Partial<AgentState>;

const CHAT_TYPES = { dm: "direct", group: "group", channel: "room" } as const satisfies Record<string, SessionChatType>;

/** What a new agent's descriptor says about its conversation; empty for agents without one. */
export function conversationFacts(descriptor: AgentDescriptor): Facts {
  if (descriptor.type !== "user") return {};
  const { connector, userId, channelId, accountId, peerKind = "dm" } = descriptor;
  const isGroup = peerKind !== "dm";
  return {
    chatType: CHAT_TYPES[peerKind],
    channel: isGroup ? connector : undefined,
    groupId: isGroup ? channelId : undefined,
    origin: { provider: connector, from: userId, to: channelId, accountId: accountId || undefined },
  };
}

/** Where the message came from that was answered last: an address is atomic, so what it does not name is absent. */
export function routingFacts(delivery: DeliveryContext | undefined): Facts {
  if (!delivery) return {};
  const { channel, to, accountId, threadId } = delivery;
  return {
    deliveryContext: delivery,
    lastChannel: channel,
    lastTo: to,
    lastAccountId: accountId,
    lastThreadId: threadId,
  };
}

/** The last call, as its provider counted it: `totalTokens` is what the context filled. */
export function callFacts({ provider, model, usage }: { provider: string; model: string; usage?: Usage }): Facts {
  if (!usage) return {};
  const { input, output, cacheRead, cacheWrite } = usage;
  return {
    systemSent: true,
    modelProvider: provider,
    model,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + cacheRead + cacheWrite,
  };
}
