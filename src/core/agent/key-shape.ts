/** Reads a session key back into its parts, for listings, policies and people. Messages are never routed by them. */
import { parseAgentSessionKey, readPart } from "./session-key.ts";

export interface KeyShape {
  readonly kind:
    | "main"
    | "dm"
    | "group"
    | "channel"
    | "cron"
    | "heartbeat"
    | "system"
    | "subagent"
    | "swarm"
    | "permanent";
  readonly profile?: string;
  readonly channel?: string;
  readonly accountId?: string;
  /** The id of the peer, the job, the tag, the swarm or the name, by kind. */
  readonly id?: string;
  readonly contact?: string;
  readonly threadId?: string;
}

/** Undefined if the text is not a session key. */
export function readSessionKey(sessionKey: string): KeyShape | undefined {
  const cron = /^cron:([^:]+)$/.exec(sessionKey.trim())?.[1];
  if (cron !== undefined) return { kind: "cron", id: readPart(cron) };
  const parsed = parseAgentSessionKey(sessionKey);
  if (!parsed) return undefined;
  const parts = parsed.rest.split(":");
  const threaded = /^(?:thread|topic)$/.test(parts.at(-2) ?? "");
  const shape = shapeOf(threaded ? parts.slice(0, -2) : parts);
  if (!shape) return undefined;
  const threadId = threaded ? readPart(parts.at(-1) ?? "") : undefined;
  return { ...shape, profile: parsed.agentId, threadId };
}

function shapeOf(parts: readonly string[]): KeyShape | undefined {
  const [first, second, third, fourth] = parts.map(readPart);
  const [literal, peerWord, accountPeerWord] = parts;
  switch (parts.length) {
    case 1:
      return literal === "heartbeat" ? { kind: "heartbeat" } : { kind: "main", id: first };
    case 2:
      if (literal === "dm" || literal === "system" || literal === "subagent" || literal === "permanent")
        return { kind: literal, id: second };
      // Clawdbot's longer form of a cron key.
      return literal === "cron" ? { kind: "cron", id: second } : undefined;
    case 3:
      if (literal === "swarm") return { kind: "swarm", id: second, contact: third };
      if (peerWord === "dm" || peerWord === "group" || peerWord === "channel")
        return { kind: peerWord, channel: first, id: third };
      return undefined;
    case 4:
      return accountPeerWord === "dm" ? { kind: "dm", channel: first, accountId: second, id: fourth } : undefined;
    default:
      return undefined;
  }
}

/** The keys a person may have meant: the text itself, the main conversation by one of its names, or with its prefix added. */
export function sessionKeyCandidates(
  requested: string,
  about: { agentId: string; mainKey: string },
): readonly string[] {
  const raw = requested.trim();
  const lower = raw.toLowerCase();
  const main = `agent:${about.agentId}:${about.mainKey}`;
  const names = ["", "main", about.mainKey, `agent:${about.agentId}:main`];
  if (names.includes(lower)) return [main];
  const shape = readSessionKey(raw);
  const whole = /^(?:agent|cron):/i.test(raw)
    ? [raw, lower]
    : [`agent:${about.agentId}:${raw}`, `agent:${about.agentId}:${lower}`];
  const short = shape?.kind === "cron" ? [`cron:${shape.id}`] : [];
  return [...new Set([...whole, ...short])];
}
