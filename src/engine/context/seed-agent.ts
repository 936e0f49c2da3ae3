/** What it takes to make an agent: its descriptor, its address, and the first lines of its history. */
import { type AgentSeed, DEFAULT_PROFILE } from "../../core/agent/agent.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { sessionKeyOf } from "../../core/agent/session-key.ts";
import { freshState } from "../../core/agent/state.ts";
import type { Ids, SessionId } from "../../core/ids.ts";
import { conversationFacts } from "../../core/run/session-facts.ts";
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
