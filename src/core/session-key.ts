/**
 * An agent's readable address, computed once from what it is and stored. Nobody parses a key to route by it. A component
 * that holds the separator is escaped, so that two addresses can never meet in one key.
 */
import type { AgentDescriptor } from "./descriptor.ts";
import { unreachable } from "./errors.ts";
import type { SessionKey } from "./ids.ts";

/** Escapes what would read as another component. Lower-case, as clawdbot's keys are. */
const part = (text: string | number): string =>
  String(text).toLowerCase().replaceAll("%", "%25").replaceAll(":", "%3a");

export function sessionKeyOf(descriptor: AgentDescriptor, profile: string): SessionKey {
  return keyText(descriptor, `agent:${part(profile)}`) as SessionKey;
}

function keyText(descriptor: AgentDescriptor, base: string): string {
  switch (descriptor.type) {
    case "user": {
      const { connector, userId, channelId, peerKind, threadId } = descriptor;
      const peer =
        peerKind === "group" || peerKind === "channel" ? `${peerKind}:${part(channelId)}` : `dm:${part(userId)}`;
      const thread = threadId === undefined ? "" : `:thread:${part(threadId)}`;
      return `${base}:${part(connector)}:${peer}${thread}`;
    }
    case "cron":
      return `cron:${part(descriptor.id)}`;
    case "heartbeat":
      return `${base}:heartbeat`;
    case "system":
      return `${base}:system:${part(descriptor.tag)}`;
    case "subagent":
      return `${base}:subagent:${part(descriptor.id)}`;
    case "swarm":
      return `${base}:swarm:${part(descriptor.id)}:${part(descriptor.contact)}`;
    case "permanent":
      return `${base}:permanent:${part(descriptor.name)}`;
    default:
      return unreachable(descriptor, "descriptor");
  }
}
