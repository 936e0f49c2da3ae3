/**
 * The one function that decides whether something may happen, for these people, now (L13, M30). Every person on the way gives
 * a verdict, and so do the agent's kind, its profile and the token of a request. The strictest wins.
 */
import type { AgentKind } from "../agent/descriptor.ts";
import { covers, type Grant, parseSubject, strictest, type Verdict, verdictOf } from "../people/grant.ts";
import type { PersonId, Role } from "../people/person.ts";
import type { EffectDetail } from "./effect-detail.ts";
import { denialByKind, denialByProfile, type ToolPolicy, type ToolUser } from "./kind-rules.ts";
import type { Right } from "./right.ts";
import { roleVerdict } from "./role-rules.ts";
import type { Scope } from "./scope.ts";
import { type Asked, denialByToken, type TokenParty } from "./token-rules.ts";
import { needsQuestion, UNTRUSTED_REASON } from "./untrusted-rules.ts";

/** What is about to happen. */
export interface Effect {
  /** The tool's name, or another action: `gate`, `approve`, `message`. */
  readonly action: string;
  readonly rights: readonly Right[];
  /** The tool it is done with, which kinds of agents and profiles limit. Absent: `action`. */
  readonly tool?: string;
  /** The person or thing it reaches: `telegram:42`, `agent:ID`. Absent: nothing outside of the run itself. */
  readonly target?: string;
  /** Whose the target is. For this person it needs no grant; for all others on the way it is another's. */
  readonly of?: PersonId;
  /** What exactly it touches. Rules match against it. */
  readonly detail?: EffectDetail;
  /** The tool wants a yes for this call, although the rights allow it. A grant that names the tool is that yes. */
  readonly needsYes?: boolean;
  /** What it asks of a token. Absent: nothing. */
  readonly asked?: Asked;
}

/** A person on the way, with the rights of now. Someone without a record is a stranger. */
export interface Standing {
  readonly person: PersonId;
  readonly role: Role;
  readonly grants: readonly Grant[];
}

export interface Situation extends ToolUser {
  /** Everyone on its way, in any order. No one means that no one granted it. */
  readonly people: readonly Standing[];
  readonly kind: AgentKind;
  readonly profile?: ToolPolicy;
  /** Text that the run's person did not write is in its context (M32). */
  readonly untrusted?: boolean;
  /** No person waits for this run (a schedule, a hook): a question would have no answer. */
  readonly headless?: boolean;
  /** The token of the request that asks for it: one more party, which only narrows. Absent: a run asks for it. */
  readonly token?: TokenParty;
}

export interface Decision {
  readonly verdict: Verdict;
  /** What decided, in words for the person and the model. Empty if allowed. */
  readonly reason: string;
  /** The person whose rights decided. Absent: the kind, the profile, or the situation. */
  readonly person?: PersonId;
  /** The scope that the token lacks. */
  readonly scope?: Scope;
}

export const ALLOWED: Decision = { verdict: "allow", reason: "" };

export function decide(effect: Effect, situation: Situation): Decision {
  const { people, kind, profile, untrusted = false, headless = false } = situation;
  const { tool = effect.action } = effect;
  const limit = denialByKind(tool, kind, situation, profile) ?? denialByProfile(tool, profile);
  if (limit !== undefined) return { verdict: "deny", reason: limit };
  const byToken = situation.token && effect.asked && denialByToken(effect.asked, situation.token);
  if (byToken) return { verdict: "deny", ...byToken };
  if (people.length === 0) return { verdict: "deny", reason: "it acts for no one" };
  const decision = people.map((one) => judge(effect, one, untrusted)).reduce(stricter);
  if (decision.verdict === "ask" && headless) {
    return { ...decision, verdict: "deny", reason: `${decision.reason}, and no one is there to ask` };
  }
  return decision;
}

/** The first of two decisions unless the second is stricter. */
export const stricter = (a: Decision, b: Decision): Decision => (strictest(a.verdict, b.verdict) === a.verdict ? a : b);

/**
 * What the rights of one person say. A grant that matches replaces the rule of the role; deny wins over ask, ask over allow. With
 * untrusted text in context, some effects need a question although they are allowed, unless a grant is made for that case.
 */
export function judge(effect: Effect, standing: Standing, untrusted = false): Decision {
  const decision = byRights(effect, standing, untrusted);
  if (!effect.needsYes || decision.verdict !== "allow" || isNamed(effect, standing.grants)) return decision;
  return { verdict: "ask", reason: `${effect.action} asks before each call`, person: standing.person };
}

/** A grant for everything, or for tools by the beginning of their names, is no yes to this one. */
const isNamed = (effect: Effect, grants: readonly Grant[]): boolean =>
  grantedBy(
    effect,
    grants.filter((grant) => parseSubject(verdictOf(grant).subject)?.action === effect.action),
  ) === "allow";

function byRights(whole: Effect, standing: Standing, untrusted: boolean): Decision {
  const { person, role, grants } = standing;
  if (role === "stranger") return { verdict: "deny", reason: `${person} is not known here`, person };
  const effect = whole.of === person ? { ...whole, target: undefined } : whole;
  const always = byGrants(effect, standing, grants.filter(countsAlways));
  if (!untrusted) return always;
  const more = grantedBy(
    effect,
    grants.filter((grant) => !countsAlways(grant)),
  );
  const decision = more === undefined ? always : stricter(always, ofGrant(more, person));
  if (decision.verdict !== "allow" || !needsQuestion(effect)) return decision;
  const beforehand = grants.filter(({ when }) => when !== undefined);
  return grantedBy(effect, beforehand) === "allow" ? decision : { verdict: "ask", reason: UNTRUSTED_REASON, person };
}

/** A question or a denial for untrusted text counts only with such text, and only adds to what is decided without it. */
const countsAlways = (grant: Grant): boolean => grant.when === undefined || "allow" in grant;

function byGrants(effect: Effect, { person, role }: Standing, grants: readonly Grant[]): Decision {
  const granted = grantedBy(effect, grants);
  return granted === undefined ? { ...roleVerdict(role, effect), person } : ofGrant(granted, person);
}

function ofGrant(verdict: Verdict, person: PersonId): Decision {
  if (verdict === "allow") return ALLOWED;
  const reason = verdict === "ask" ? `a grant of ${person} says to ask first` : `a grant of ${person} denies it`;
  return { verdict, reason, person };
}

/** The strictest verdict of the grants about this effect; undefined if none is. */
function grantedBy(effect: Effect, grants: readonly Grant[]): Verdict | undefined {
  let granted: Verdict | undefined;
  for (const grant of grants) {
    const { verdict, subject } = verdictOf(grant);
    const parsed = parseSubject(subject);
    // A denial of an action covers every target of it.
    const target = verdict === "deny" && parsed?.target === undefined ? undefined : effect.target;
    if (!parsed || !covers(parsed, effect.action, target)) continue;
    granted = granted === undefined ? verdict : strictest(granted, verdict);
  }
  return granted;
}
