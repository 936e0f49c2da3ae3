/**
 * The conversations that a change of `session.dmScope` leaves behind: their people's next messages get another session key. Pure.
 * What several people share is never offered to one of them, and a conversation is offered to one key only (L13).
 */
import type { AgentId, SessionKey } from "../ids.ts";
import { OWNER } from "../people/person.ts";
import type { AgentRecord } from "./agent.ts";
import type { IdentityLinks } from "./identity-links.ts";
import { isMainConversation } from "./person.ts";
import { type DmScope, isOwner, type KeyScoping, sessionKeyOf } from "./session-key.ts";

export interface ScopeChange {
  /** The scope that is, or would be, in force. */
  readonly to: DmScope;
  /** The scopes before it under which conversations began. */
  readonly earlier: readonly DmScope[];
  readonly mainKey?: string;
  readonly ownerAccounts: readonly string[];
  /** The links of the configuration. */
  readonly links: IdentityLinks;
  /** The accounts of people who have a record, by the id of the record. */
  readonly people: IdentityLinks;
  /** What was carried over before. */
  readonly carried: ReadonlyMap<string, string>;
}

/** `shared`: others have spoken there, or would. `begun`: its person has written in a newer one. `older`: another of that person is newer. */
export type StaysBecause = "shared" | "begun" | "older";

export interface LeftBehind {
  readonly agentId: AgentId;
  readonly person?: string;
  readonly from: SessionKey;
  readonly to: SessionKey;
  readonly lastHumanAt?: number;
  /** Absent: it can be carried over. */
  readonly stays?: StaysBecause;
}

type Candidate = Pick<
  AgentRecord,
  "id" | "sessionKey" | "profile" | "descriptor" | "person" | "lastHumanAt" | "stopped"
> & {
  readonly state: Pick<AgentRecord["state"], "speakers">;
};

/** What a scope links: `per-peer` joins the accounts of a person's record too. */
const linksIn = (scope: DmScope, { links, people }: Pick<ScopeChange, "links" | "people">): IdentityLinks =>
  scope === "per-peer" ? { ...people, ...links } : links;

/** Undefined unless the agent's conversation began under an earlier scope, and its person's messages go elsewhere now. */
export function leftBehind(agent: Candidate, change: ScopeChange): LeftBehind | undefined {
  const { descriptor, profile, sessionKey: from, person, lastHumanAt } = agent;
  if (descriptor.type !== "user" || (descriptor.peerKind ?? "dm") !== "dm" || agent.stopped?.removed) return undefined;
  if (isOwner(descriptor, change.ownerAccounts) || isMainConversation(agent, change)) return undefined;
  const scoping: KeyScoping = { mainKey: change.mainKey, ownerAccounts: change.ownerAccounts };
  const keyIn = (dmScope: DmScope, identityLinks: IdentityLinks): SessionKey =>
    sessionKeyOf(descriptor, profile, { ...scoping, dmScope, identityLinks });
  const to = keyIn(change.to, linksIn(change.to, change));
  if ((change.carried.get(to) ?? to) === from) return undefined;
  const isEarlier = change.earlier.some((scope) =>
    [linksIn(scope, change), change.links, {}].some((links) => keyIn(scope, links) === from),
  );
  if (!isEarlier) return undefined;
  const others = (agent.state.speakers ?? []).some((one) => one !== person && one !== OWNER);
  const stays = others || isMainConversation({ sessionKey: to, profile }, change) ? "shared" : undefined;
  return { agentId: agent.id, person, from, to, lastHumanAt, stays };
}

const at = ({ lastHumanAt = 0 }: Pick<LeftBehind, "lastHumanAt">): number => lastHumanAt;

/** Of several that lead to one key the newest is offered. */
export function oneEach(found: readonly LeftBehind[]): readonly LeftBehind[] {
  const newest = new Map<SessionKey, LeftBehind>();
  for (const one of found) {
    const other = newest.get(one.to);
    if (one.stays === undefined && (!other || at(one) > at(other))) newest.set(one.to, one);
  }
  return found.map((one) => (one.stays === undefined && newest.get(one.to) !== one ? { ...one, stays: "older" } : one));
}
