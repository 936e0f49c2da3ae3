/** What it takes to make an agent: its descriptor, its address, and the first lines of its history. */
import { type AgentSeed, DEFAULT_PROFILE } from "../core/agent.ts";
import type { AgentDescriptor } from "../core/descriptor.ts";
import type { Ids, SessionId } from "../core/ids.ts";
import { conversationFacts } from "../core/session-facts.ts";
import { sessionKeyOf } from "../core/session-key.ts";
import { freshState } from "../core/state.ts";
import { firstLines } from "../history/entries.ts";

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
