/** Which profile a conversation belongs to: the most exact of the bindings that fit, else the default profile. */
import { DEFAULT_ACCOUNT, normalizeAccountId } from "./key-part.ts";
import type { PeerKind } from "./session-key.ts";

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
