/** The parts of a new agent: its descriptor, its address, and the first lines of its history. */
import { type AgentSeed, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { freshState } from "../../core/agent/fresh-state.ts";
import type { SessionChatType } from "../../core/agent/session-entry.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import type { AgentState } from "../../core/agent/state.ts";
import type { Ids, SessionId } from "../../core/ids.ts";
import { firstLines } from "./entries.ts";

export function seedAgent(
  ids: Ids,
  descriptor: AgentDescriptor,
  at: number,
  profile = DEFAULT_PROFILE,
  sessionKey = sessionKeyOf(descriptor, profile),
): AgentSeed {
  const sessionId = ids.uuid() as SessionId;
  return {
    id: ids.agent(),
    sessionKey,
    profile,
    descriptor,
    state: { ...freshState(at), ...conversationFacts(descriptor) },
    sessionId,
    ...firstLines(ids, { descriptor, sessionId, at }),
    createdAt: at,
  };
}

const CHAT_TYPES = { dm: "direct", group: "group", channel: "room" } as const satisfies Record<string, SessionChatType>;

/** What a new agent's descriptor says about its conversation; empty for agents without one. */
function conversationFacts(descriptor: AgentDescriptor): Partial<AgentState> {
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
