/**
 * From a person's message to the agent it is for: the profile by the bindings, the descriptor of the conversation, and
 * its session key by scope and links. Pure: the same message and configuration always give the same address.
 */

import { InvalidInputError } from "../errors.ts";
import type { SessionKey } from "../ids.ts";
import type { IncomingMessage } from "../message/incoming-message.ts";
import { DEFAULT_PROFILE } from "./agent.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import type { IdentityLinks } from "./identity-links.ts";
import { DEFAULT_ACCOUNT, type DmScope, normalizeAccountId, type PeerKind, sessionKeyOf } from "./session-key.ts";

/** What of a message says which conversation it belongs to. */
export type Conversation = Pick<
  IncomingMessage,
  "connector" | "accountId" | "userId" | "channelId" | "peerKind" | "threadId" | "guildId" | "teamId"
>;

/** The parts of the configuration that decide about addresses. */
export interface AddressConfig {
  readonly profiles: Readonly<Record<string, unknown>>;
  readonly bindings: readonly Binding[];
  readonly session: {
    readonly dmScope?: DmScope;
    readonly mainKey?: string;
    readonly identityLinks?: IdentityLinks;
  };
  readonly owner: { readonly accounts: readonly string[] };
}

export interface Addressed {
  readonly profile: string;
  readonly descriptor: AgentDescriptor;
  readonly sessionKey: SessionKey;
}

export function addressFor(incoming: Conversation, config: AddressConfig): Addressed {
  const descriptor = userDescriptor(incoming);
  const { connector, accountId, guildId, teamId, channelId, userId } = incoming;
  const kind = incoming.peerKind ?? "dm";
  const { profile } = resolveBinding(
    { channel: connector, accountId, guildId, teamId, peer: { kind, id: kind === "dm" ? userId : channelId } },
    config.bindings,
    { known: [DEFAULT_PROFILE, ...Object.keys(config.profiles)], default: DEFAULT_PROFILE },
  );
  const { dmScope, mainKey, identityLinks } = config.session;
  const scoping = { dmScope, mainKey, identityLinks, ownerAccounts: config.owner.accounts };
  return { profile, descriptor, sessionKey: sessionKeyOf(descriptor, profile, scoping) };
}

/** The descriptor of the conversation a message belongs to. Refuses a message that does not say which it is. */
export function userDescriptor(incoming: Conversation): AgentDescriptor {
  const { connector, userId, channelId, accountId, peerKind, threadId } = incoming;
  for (const [name, id] of Object.entries({ connector, userId, channelId })) {
    if (id.trim() === "") {
      throw new InvalidInputError(`A message came without ${name}, so nobody knows whose conversation it belongs to.`, {
        hint: "Connectors must provide connector, channelId and userId.",
      });
    }
  }
  return {
    type: "user",
    connector,
    userId,
    channelId,
    ...(accountId ? { accountId } : {}),
    ...(peerKind ? { peerKind } : {}),
    ...(threadId === undefined || threadId === "" ? {} : { threadId }),
  };
}

export interface Binding {
  readonly profile: string;
  readonly match: {
    readonly channel: string;
    /** Absent: the account `default` only. `*`: any. */
    readonly accountId?: string;
    readonly peer?: { readonly kind: PeerKind; readonly id: string };
    readonly guildId?: string;
    readonly teamId?: string;
  };
}

/** The origin of a conversation, as bindings see it. */
export interface BindingOrigin {
  readonly channel: string;
  readonly accountId?: string;
  readonly peer?: { readonly kind: PeerKind; readonly id: string };
  readonly guildId?: string;
  readonly teamId?: string;
}

export type MatchedBy = "peer" | "guild" | "team" | "account" | "any-account" | "default";

export interface ResolvedBinding {
  readonly profile: string;
  readonly matchedBy: MatchedBy;
}

/** From the most exact to the least; the first binding of the first rank that has one wins. */
const RANKS = ["peer", "guild", "team", "account", "any-account"] as const satisfies readonly MatchedBy[];

/**
 * Peer before guild before team before account before any account before the default. A binding to a profile nobody
 * knows leads to the default one: better the wrong voice than no answer.
 */
export function resolveBinding(
  origin: BindingOrigin,
  bindings: readonly Binding[],
  profiles: { readonly known: readonly string[]; readonly default: string },
): ResolvedBinding {
  const fitting = bindings.filter(({ match }) => fitsChannel(match, origin));
  for (const rank of RANKS) {
    const found = fitting.find(({ match }) => rankOf(match, origin) === rank);
    if (found) {
      const profile = profiles.known.includes(found.profile) ? found.profile : profiles.default;
      return { profile, matchedBy: rank };
    }
  }
  return { profile: profiles.default, matchedBy: "default" };
}

const folded = (text: string): string => text.trim().toLowerCase();

function fitsChannel(match: Binding["match"], origin: BindingOrigin): boolean {
  if (folded(match.channel) !== folded(origin.channel)) return false;
  const wanted = match.accountId?.trim();
  if (wanted === "*") return true;
  return normalizeAccountId(wanted ?? DEFAULT_ACCOUNT) === normalizeAccountId(origin.accountId);
}

/** How exactly a binding of the right channel and account names an origin; undefined where it names another. */
function rankOf({ peer, guildId, teamId, accountId }: Binding["match"], origin: BindingOrigin): MatchedBy | undefined {
  if (peer) return samePeer(peer, origin.peer) ? "peer" : undefined;
  if (guildId !== undefined) return sameId(guildId, origin.guildId) ? "guild" : undefined;
  if (teamId !== undefined) return sameId(teamId, origin.teamId) ? "team" : undefined;
  return accountId?.trim() === "*" ? "any-account" : "account";
}

const sameId = (wanted: string, actual: string | undefined): boolean =>
  actual !== undefined && wanted.trim() !== "" && folded(wanted) === folded(actual);

const samePeer = (wanted: { kind: PeerKind; id: string }, actual: BindingOrigin["peer"]): boolean =>
  wanted.kind === actual?.kind && sameId(wanted.id, actual.id);
