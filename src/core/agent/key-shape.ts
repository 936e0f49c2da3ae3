/** What a session key says, read back: for listings, policies and people. Messages are never routed by it. */
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
  /** The peer, or whatever id the kind has: the job, the tag, the swarm, the name. */
  readonly id?: string;
  readonly contact?: string;
  readonly threadId?: string;
}

/** Undefined where the text is no key of this program. */
export function readSessionKey(sessionKey: string): KeyShape | undefined {
  const cron = /^cron:([^:]+)$/.exec(sessionKey.trim())?.[1];
  if (cron !== undefined) return { kind: "cron", id: readPart(cron) };
  const parsed = parseAgentSessionKey(sessionKey);
  if (!parsed) return undefined;
  const parts = parsed.rest.split(":");
  const threaded = parts.length > 2 && /^(?:thread|topic)$/.test(parts.at(-2) ?? "");
  const shape = shapeOf(threaded ? parts.slice(0, -2) : parts);
  if (!shape) return undefined;
  const thread = threaded ? { threadId: readPart(parts.at(-1) ?? "") } : {};
  return { ...shape, profile: parsed.agentId, ...thread };
}

function shapeOf(parts: readonly string[]): KeyShape | undefined {
  const [first = "", second = "", third = "", fourth = ""] = parts.map(readPart);
  const [literal, peerWord, accountPeerWord] = parts;
  switch (parts.length) {
    case 1:
      return literal === "heartbeat" ? { kind: "heartbeat" } : { kind: "main", id: first };
    case 2:
      if (literal === "dm" || literal === "system" || literal === "subagent" || literal === "permanent")
        return { kind: literal, id: second };
      // The longer form clawdbot keeps cron agents under.
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

/** What a person may have meant by a key: as it is, the main conversation by one of its names, or without its prefix. */
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
  const short = shape?.kind === "cron" && shape.id !== undefined ? [`cron:${shape.id}`] : [];
  return [...new Set([...whole, ...short])];
}
