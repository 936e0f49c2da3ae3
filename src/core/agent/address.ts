/**
 * The address of a person's message: the profile by the bindings, the descriptor of the conversation, and its session key
 * by scope and links. Pure: the same message and configuration always give the same address.
 */

import { defined } from "../defined.ts";
import { InvalidInputError } from "../errors.ts";
import type { SessionKey } from "../ids.ts";
import type { IncomingMessage } from "../message/incoming-message.ts";
import { foldedId as folded } from "../same-id.ts";
import { DEFAULT_PROFILE } from "./agent.ts";
import type { CarriedConversations } from "./carried-conversations.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import type { IdentityLinks } from "./identity-links.ts";
import { type DmScope, normalizeAccountId, type PeerKind, sessionKeyOf } from "./session-key.ts";

/** The fields of a message that name its conversation. */
export type Conversation = Pick<
  IncomingMessage,
  "connector" | "accountId" | "userId" | "channelId" | "peerKind" | "threadId" | "guildId" | "teamId"
>;

/** The parts of the configuration that decide an address. */
export interface AddressConfig {
  readonly profiles: Readonly<Record<string, unknown>>;
  readonly bindings: readonly Binding[];
  readonly session: {
    readonly dmScope?: DmScope;
    readonly mainKey?: string;
    readonly identityLinks?: IdentityLinks;
    readonly carried?: CarriedConversations;
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
  const { dmScope, mainKey, identityLinks, carried } = config.session;
  const scoping = { dmScope, mainKey, identityLinks, ownerAccounts: config.owner.accounts, carried: carried?.keys };
  return { profile, descriptor, sessionKey: sessionKeyOf(descriptor, profile, scoping) };
}

/** The descriptor of a message's conversation. Throws if the message does not name one. */
export function userDescriptor(incoming: Conversation): AgentDescriptor {
  const { connector, userId, channelId, accountId, peerKind, threadId } = incoming;
  for (const [name, id] of Object.entries({ connector, userId, channelId })) {
    // A connector need not be written in TypeScript: many platforms have numbers as ids.
    if (typeof id !== "string" || id.trim() === "") {
      throw new InvalidInputError(`A message came without ${name}, so its conversation is unknown.`, {
        hint: "Connectors must provide connector, channelId and userId, each as a text.",
      });
    }
  }
  if (accountId && typeof accountId !== "string") {
    throw new InvalidInputError("A message came with an accountId that is no text, so its conversation is unknown.", {
      hint: "Connectors must provide accountId as a text, or leave it out.",
    });
  }
  return {
    type: "user",
    connector,
    userId,
    channelId,
    ...defined({
      accountId: accountId || undefined,
      peerKind: peerKind || undefined,
      threadId: threadId === "" ? undefined : threadId,
    }),
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

/** From the most exact to the least. The first binding of the first rank with a match wins. */
const RANKS = ["peer", "guild", "team", "account", "any-account"] as const satisfies readonly MatchedBy[];

/**
 * The profile of a conversation: by peer, else guild, team, account, any account, else the default. A binding to an unknown
 * profile leads to the default profile, so that the message still gets an answer.
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

function fitsChannel(match: Binding["match"], origin: BindingOrigin): boolean {
  if (folded(match.channel) !== folded(origin.channel)) return false;
  const wanted = match.accountId?.trim();
  if (wanted === "*") return true;
  return normalizeAccountId(wanted) === normalizeAccountId(origin.accountId);
}

/** How exactly a binding of the right channel and account matches an origin; undefined if it does not match. */
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
