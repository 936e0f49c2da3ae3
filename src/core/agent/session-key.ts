/**
 * An agent's readable address, `agent:{profile}:{type}:{context}`. Computed once from the descriptor, the profile and the
 * configuration at that moment, and stored. Two conversations share a key only if a scope or a link says so.
 */

import { unreachable } from "../errors.ts";
import type { SessionKey } from "../ids.ts";
import { foldedId, sameForm } from "../same-id.ts";
import { trimChars } from "../trim-chars.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { type IdentityLinks, isCanonicalName, linkedName } from "./identity-links.ts";

/** How direct messages are separated: not at all, by person, by channel and person, by account too. */
export const DM_SCOPES = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const;
export type DmScope = (typeof DM_SCOPES)[number];
export type PeerKind = "dm" | "group" | "channel";

export interface ParsedAgentSessionKey {
  readonly agentId: string;
  readonly rest: string;
}

/** No key is longer: a longer text is not read as one (L14). */
const MAX_KEY = 100_000;

/** `agent:main:…` → `{ agentId: "main", rest: "…" }`; null for any other text. The rest keeps its case. */
export function parseAgentSessionKey(sessionKey: string | undefined | null): ParsedAgentSessionKey | null {
  const text = sessionKey ?? "";
  if (text.length > MAX_KEY) return null;
  const [first, agentId, ...rest] = text.trim().split(":").filter(Boolean);
  if (first !== "agent" || agentId === undefined || rest.length === 0) return null;
  return { agentId, rest: rest.join(":") };
}

/** Whether a key belongs to a subagent, with or without the profile in front. */
export function isSubagentSessionKey(sessionKey: string | undefined | null): boolean {
  const isSubagent = (text: string): boolean => text.toLowerCase().startsWith("subagent:");
  const raw = (sessionKey ?? "").trim();
  return isSubagent(raw) || isSubagent(parseAgentSessionKey(raw)?.rest ?? "");
}

export const DEFAULT_MAIN_KEY = "main";

/** The key of a profile's main conversation. */
export function buildAgentMainSessionKey(params: { agentId: string; mainKey?: string | null }): string {
  const main = notReserved(keyPart(params.mainKey ?? "")) || DEFAULT_MAIN_KEY;
  return `agent:${normalizeAgentId(params.agentId)}:${main}`;
}

export interface PeerSessionKeyParams {
  readonly agentId: string;
  readonly mainKey?: string | null;
  readonly channel: string;
  readonly accountId?: string | null;
  /** Absent: `dm`. */
  readonly peerKind?: PeerKind | null;
  readonly peerId?: string | null;
  readonly identityLinks?: IdentityLinks;
  /** Absent: `main`. */
  readonly dmScope?: DmScope;
  readonly threadId?: string | number | null;
  /** How the key names the thread; `topic` for forums that call it so. */
  readonly threadWord?: "thread" | "topic";
}

/** The key of a conversation with a peer: a direct message by its scope; a group or a channel always has its own. */
export function buildAgentPeerSessionKey(params: PeerSessionKeyParams): string {
  return withThread(peerKey(params), params.threadId, params.threadWord);
}

function peerKey(params: PeerSessionKeyParams): string {
  const base = `agent:${normalizeAgentId(params.agentId)}`;
  const channel = notReserved(keyPart(params.channel)) || "unknown";
  const kind = params.peerKind ?? "dm";
  if (kind !== "dm") return `${base}:${channel}:${kind}:${keyPart(params.peerId ?? "") || "unknown"}`;
  const peer = dmPeer(params);
  const scope = params.dmScope ?? "main";
  if (peer === "") return buildAgentMainSessionKey(params);
  switch (scope) {
    case "main":
      return buildAgentMainSessionKey(params);
    case "per-peer":
      return `${base}:dm:${peer}`;
    case "per-channel-peer":
      return `${base}:${channel}:dm:${peer}`;
    case "per-account-channel-peer":
      return `${base}:${channel}:${notReserved(normalizeAccountId(params.accountId))}:dm:${peer}`;
    default:
      return unreachable(scope, "dm scope");
  }
}

/** The person behind a direct message: by a link's name, or by the channel's id. */
function dmPeer({ identityLinks, channel, peerId }: PeerSessionKeyParams): string {
  const id = peerId ?? "";
  const linked = linkedName(identityLinks, channel, id);
  if (linked !== undefined) return keyPart(linked);
  return apart(keyPart(id), isCanonicalName(identityLinks, id));
}

/** Another person with the same name as a linked person gets another key. */
const apart = (peer: string, namesake: boolean): string => (namesake && peer !== "" ? setApart(peer) : peer);

/** The key of a thread inside a conversation; the conversation's own key without a thread. */
export function withThread(
  base: string,
  threadId?: string | number | null,
  word: "thread" | "topic" = "thread",
): string {
  const thread = keyPart(threadId ?? "");
  return thread === "" ? base : `${base}:${word}:${thread}`;
}

/** The key of the conversation a thread belongs to; null if the key does not belong to a thread. */
export function resolveThreadParentSessionKey(sessionKey: string | undefined | null): string | null {
  // Greedy: everything before the last marker.
  const parent = /^(.+):(?:thread|topic):/is.exec(sessionKey ?? "")?.[1]?.trim();
  return parent || null;
}

/** The settings of the configuration about conversations with people. */
export interface KeyScoping {
  /** How people other than the owner are separated. Absent: `per-channel-peer`. */
  readonly dmScope?: DmScope;
  readonly mainKey?: string;
  readonly identityLinks?: IdentityLinks;
  /** The owner's own accounts, each `channel:id`. The terminal is always one. */
  readonly ownerAccounts?: readonly string[];
  /** Keys of people's conversations that lead to an earlier conversation: it was carried over from another scope. */
  readonly carried?: ReadonlyMap<string, string>;
}

export const DEFAULT_DM_SCOPE: DmScope = "per-channel-peer";

/** A person at the terminal of a home can read all of it. */
const OWNER_CHANNEL = "terminal";
/** Users of the API are names that their caller chose: always separate, and case counts. */
const API_CHANNEL = "api";

/** The address of an agent, for all seven kinds. */
export function sessionKeyOf(descriptor: AgentDescriptor, profile: string, scoping: KeyScoping = {}): SessionKey {
  return keyText(descriptor, profile, scoping) as SessionKey;
}

function keyText(descriptor: AgentDescriptor, profile: string, scoping: KeyScoping): string {
  const base = `agent:${normalizeAgentId(profile)}`;
  switch (descriptor.type) {
    case "user":
      return userKey(descriptor, profile, scoping);
    case "cron":
      return `cron:${exactPart(descriptor.id)}`;
    case "heartbeat":
      return `${base}:heartbeat`;
    case "system":
      return `${base}:system:${exactPart(descriptor.tag)}`;
    case "subagent":
      return `${base}:subagent:${exactPart(descriptor.id)}`;
    case "swarm":
      return `${base}:swarm:${notReserved(exactPart(descriptor.id))}:${exactPart(descriptor.contact)}`;
    case "permanent":
      return permanentKey(descriptor.name, profile);
    default:
      return unreachable(descriptor, "descriptor");
  }
}

/** The key of the permanent agent with a name. The case of the name does not count. */
export const permanentKey = (name: string, profile: string): SessionKey =>
  `agent:${normalizeAgentId(profile)}:permanent:${keyPart(name) || exactPart(name)}` as SessionKey;

type UserDescriptor = Extract<AgentDescriptor, { type: "user" }>;

function userKey(user: UserDescriptor, profile: string, scoping: KeyScoping): string {
  const { connector, userId, channelId, accountId, threadId } = user;
  const peerKind = user.peerKind ?? "dm";
  const { mainKey, identityLinks } = scoping;
  const common = { agentId: profile, channel: connector, accountId, mainKey, identityLinks, threadId };
  if (peerKind !== "dm") return buildAgentPeerSessionKey({ ...common, peerKind, peerId: channelId });
  if (isOwner(user, scoping.ownerAccounts)) return withThread(buildAgentMainSessionKey(common), threadId);
  if (connector.trim().toLowerCase() === API_CHANNEL) return withThread(apiKey(userId, profile, scoping), threadId);
  const dmScope = scoping.dmScope ?? DEFAULT_DM_SCOPE;
  // Without a user id the channel id is used: an empty id would lead into the owner's conversation.
  const peerId = userId.trim() || channelId.trim() || "unknown";
  const key = buildAgentPeerSessionKey({ ...common, peerKind, peerId, dmScope });
  return scoping.carried?.get(key) ?? key;
}

function apiKey(userId: string, profile: string, { identityLinks }: KeyScoping): string {
  const linked = linkedName(identityLinks, API_CHANNEL, userId);
  const user =
    linked === undefined ? apart(exactPart(userId), isCanonicalName(identityLinks, userId)) : keyPart(linked);
  return `agent:${normalizeAgentId(profile)}:${API_CHANNEL}:dm:${user}`;
}

/** Whether a direct message comes from one of the owner's own accounts. */
export function isOwner(user: Pick<UserDescriptor, "connector" | "userId">, accounts: readonly string[] = []): boolean {
  const channel = user.connector.trim().toLowerCase();
  if (channel === OWNER_CHANNEL) return true;
  const id = sameForm(user.userId).trim();
  return accounts.some((account) => {
    const at = account.indexOf(":");
    if (at < 1 || account.slice(0, at).trim().toLowerCase() !== channel) return false;
    const own = sameForm(account.slice(at + 1)).trim();
    return own !== "" && (channel === API_CHANNEL ? own === id : own.toLowerCase() === id.toLowerCase());
  });
}

// The components of a key. Ids from outside are trimmed and lower-cased, as clawdbot's are. A character that would read as
// another component, or cannot be stored and printed unchanged, is escaped, so that two addresses never share a key.

/** Words with a meaning in keys. A component at the same position is escaped if it equals one of them. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["dm", "group", "channel", "thread", "topic"],
  ...["heartbeat", "system", "subagent", "swarm", "permanent", "cron", "acp"],
]);

/** The escape character, the separator, blanks, control characters, and lone surrogates. */
const UNSAFE = /[%:\p{Cc}\p{Cs}\p{Z}]/gu;

/** `%3a` for a character below 256, `%u2028` for the others, which all have four digits. */
function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `%${code.toString(16).padStart(2, "0")}` : `%u${code.toString(16)}`;
}

/** A component with its case kept: for internal ids, and names where case counts. */
export const exactPart = (text: string | number): string => sameForm(String(text)).replace(UNSAFE, escaped);

/** A component trimmed and lower-cased: for ids of channels, where case does not count. */
export const keyPart = (text: string | number): string => exactPart(foldedId(String(text)));

/** Makes a component differ from an equal one with another meaning. No escape sequence ends in `%`. */
export const setApart = (part: string): string => `${part}%`;

/** Makes a component differ from a reserved word. */
export const notReserved = (part: string): string => (RESERVED.has(part.toLowerCase()) ? setApart(part) : part);

/** The original text of a component. */
export const readPart = (part: string): string =>
  part
    .replace(/%$/, "")
    .replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/gi, (_, wide?: string, narrow?: string) =>
      String.fromCharCode(Number.parseInt(wide ?? narrow ?? "", 16)),
    );

const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

function normalizeId(text: string | null | undefined, otherwise: string): string {
  const trimmed = (text ?? "").trim();
  if (ID.test(trimmed)) return trimmed.toLowerCase();
  const made = trimChars(trimmed.toLowerCase().replace(/[^a-z0-9_-]+/g, "-"), "-").slice(0, 64);
  return made === "" ? otherwise : made;
}

/** A profile's name in keys. */
export const normalizeAgentId = (id: string | null | undefined): string => normalizeId(id, "main");

const DEFAULT_ACCOUNT = "default";

/** An account's name as bindings and keys compare it. */
export const normalizeAccountId = (id: string | null | undefined): string => normalizeId(id, DEFAULT_ACCOUNT);
