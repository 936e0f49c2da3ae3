/**
 * The name of an agent for people, on every surface: "main", "Ann on Telegram", "Family group on Telegram", "librarian",
 * "Research prices (task of main)", "Morning briefing (schedule)". Two agents may have the same name: see `typed-name.ts`.
 */
import { shortened } from "../cut-text.ts";
import { unreachable } from "../errors.ts";
import { channelName, personName } from "../people/person-name.ts";
import { type AgentRecord, DEFAULT_PROFILE } from "./agent.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { readSessionKey } from "./key-shape.ts";

type NamedAgent = Pick<AgentRecord, "descriptor" | "profile" | "sessionKey" | "state" | "person">;

/** Names from other rows. */
export interface NameParts {
  /** The name in the record of the person whose conversation it is. */
  readonly person?: string;
  /** The name of the job that it runs. */
  readonly job?: string;
  /** The name of the agent that started it, or that a swarm answers. */
  readonly other?: string;
}

const MAX_NAME = 60;

/** Control characters, and those that turn the direction of the text around a name. */
const HIDDEN = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** One line: people outside choose some of these names. */
const tidy = (text: string): string => shortened(text.replace(/\s+/gu, " ").replace(HIDDEN, "�").trim(), MAX_NAME);

/** The name without its kind: "Research prices" without "(task of main)". Tasks of the agent are named after this. */
export function shortAgentName(agent: NamedAgent, parts: NameParts = {}): string {
  const { descriptor, state, profile } = agent;
  const given = state.label || state.displayName;
  const name = tidy(given || baseName(agent, parts));
  return profile === DEFAULT_PROFILE || descriptor.type === "cron" ? name : `${name} (${profile})`;
}

export function agentName(agent: NamedAgent, parts: NameParts = {}): string {
  const name = shortAgentName(agent, parts);
  switch (agent.descriptor.type) {
    case "subagent":
      return parts.other === undefined ? `${name} (task)` : `${name} (task of ${parts.other})`;
    case "cron":
      return `${name} (schedule)`;
    case "swarm":
      return parts.other === undefined ? name : `${name} with ${parts.other}`;
    default:
      return name;
  }
}

function baseName(agent: NamedAgent, { person, job }: NameParts): string {
  const { descriptor } = agent;
  switch (descriptor.type) {
    case "user":
      return conversationName(agent, descriptor, person);
    case "cron":
      return descriptor.name ?? job ?? "unnamed";
    case "subagent":
    case "permanent":
      return descriptor.name;
    case "swarm":
      return `@${descriptor.id}`;
    case "system":
      return `${descriptor.tag} (system)`;
    case "heartbeat":
      return "heartbeat";
    default:
      return unreachable(descriptor, "descriptor");
  }
}

type Conversation = Extract<AgentDescriptor, { type: "user" }>;

function conversationName({ sessionKey, state, person: id }: NamedAgent, user: Conversation, known?: string): string {
  const { connector, userId, channelId, peerKind = "dm", threadId } = user;
  const { kind } = readSessionKey(sessionKey) ?? {};
  if (kind === "main") return threadId === undefined ? "main" : String(threadId);
  const channel = ` on ${channelName(connector)}`;
  if (peerKind !== "dm") {
    const name = state.subject ?? state.space;
    const whole = name === undefined ? `${peerKind} ${channelId}` : peerKind === "group" ? withGroup(name) : name;
    const topic = state.groupChannel ?? (threadId === undefined ? undefined : `topic ${threadId}`);
    return `${topic === undefined || topic === name ? "" : `${topic} in `}${whole}${channel}`;
  }
  const said = known ?? state.origin?.label;
  const whole = said === undefined ? personName(id ?? `${connector}:${userId || channelId}`) : said;
  const name = whole.endsWith(channel) ? whole : `${whole}${channel}`;
  return threadId === undefined ? name : `${threadId} with ${name}`;
}

const withGroup = (name: string): string => (/\bgroup$/iu.test(name) ? name : `${name} group`);
