/**
 * The one function that decides whether something may happen, for these people, now (L13, M30). Every person on the way gives
 * a verdict, and so do the agent's kind, its profile and the token of a request. The strictest wins.
 */
import type { AgentKind } from "../agent/descriptor.ts";
import { type Grant, parseSubject, strictest, type Verdict, verdictOf } from "../people/grant.ts";
import type { PersonId, Role } from "../people/person.ts";
import type { EffectDetail } from "./effect-detail.ts";
import { denialByKind, denialByProfile, type ToolPolicy, type ToolUser } from "./kind-rules.ts";
import { coversEffect, type Place } from "./match-rule.ts";
import type { Right } from "./right.ts";
import { roleVerdict } from "./role-rules.ts";
import { type ParsedRule, parseRule, type Rule, ruleOf } from "./rule.ts";
import { decideByRules, type OwnRules, type RulesParty } from "./rules-party.ts";
import type { Scope } from "./scope.ts";
import { denialBySkills, type SkillLimit } from "./skill-limits.ts";
import { type Asked, denialByToken, type TokenParty } from "./token-rules.ts";
import { allowsUntrusted, needsQuestion, UNTRUSTED_REASON } from "./untrusted-rules.ts";

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
  /** The version of the file that was looked at; null: there is none. The tool changes no other one. */
  readonly version?: string | null;
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
  /** The tools of the other profiles that the agents have which started this one. */
  readonly bounds?: readonly ToolPolicy[];
  /** Text that the run's person did not write is in its context (M32). */
  readonly untrusted?: boolean;
  /** No person waits for this run (a schedule, a hook): a question would have no answer. */
  readonly headless?: boolean;
  /** The rules of the configuration, of the profile and of the agent; one party for each profile that bounds it. */
  readonly rules?: readonly RulesParty[];
  /** What the skills of the run leave of its tools. */
  readonly skills?: readonly SkillLimit[];
  /** How a yes for always to exactly this call is written among grants. It answers the questions about the call. */
  readonly yes?: string;
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
  /** The rule that decided. */
  readonly rule?: Rule;
}

export const ALLOWED: Decision = { verdict: "allow", reason: "" };

export function decide(effect: Effect, situation: Situation): Decision {
  const { people, kind, profile, bounds = [], untrusted, headless } = situation;
  const { tool = effect.action } = effect;
  const byProfile = [profile, ...bounds].map((policy) => denialByProfile(tool, policy));
  const limit = denialByKind(tool, kind, situation, profile) ?? byProfile.find((why) => why !== undefined);
  if (limit !== undefined) return { verdict: "deny", reason: limit };
  const bySkills = denialBySkills(effect, situation.skills, situation.rules?.[0]?.place);
  if (bySkills !== undefined) return { verdict: "deny", reason: bySkills };
  const byToken = situation.token && effect.asked && denialByToken(effect.asked, situation.token);
  if (byToken) return { verdict: "deny", ...byToken };
  if (people.length === 0) return { verdict: "deny", reason: "it acts for no one" };
  const decision = people.map((one) => judge(effect, one, untrusted, situation.rules, situation.yes)).reduce(stricter);
  if (decision.verdict === "ask" && headless) {
    return { ...decision, verdict: "deny", reason: `${decision.reason}, and no one is there to ask` };
  }
  return decision;
}

/** The first of two decisions unless the second is stricter. */
export const stricter = (a: Decision, b: Decision): Decision => (strictest(a.verdict, b.verdict) === a.verdict ? a : b);

/**
 * What the rights of one person and the rules say. A grant that matches replaces the rule of the role; deny wins over ask, ask over
 * allow. Each party of rules narrows that further. With untrusted text in context, some effects need a question although they are
 * allowed, unless a grant or a rule is made for that case.
 */
export function judge(
  effect: Effect,
  standing: Standing,
  untrusted = false,
  parties: readonly RulesParty[] = [],
  yes?: string,
): Decision {
  const one: Placed = {
    ...standing,
    place: parties[0]?.place,
    yes: yes === undefined ? undefined : yesOf(standing, yes, untrusted),
  };
  const decision = byRights(effect, one, untrusted, parties);
  if (!effect.needsYes || decision.verdict !== "allow" || isNamed(effect, one, parties)) return decision;
  return { verdict: "ask", reason: `${effect.action} asks before each call`, person: one.person };
}

/** A person, and the directories that the paths in grants are relative to. All parties have the same. */
interface Placed extends Standing {
  readonly place?: Place;
  /** The person's yes for always to exactly this call. */
  readonly yes?: Rule;
}

/** One that was given without untrusted text in context does not count with it. */
function yesOf({ person, grants }: Standing, text: string, untrusted: boolean): Rule | undefined {
  const given = grants.find((one) => "allow" in one && one.allow === text && (!untrusted || one.when !== undefined));
  return given && ruleOf(given, person);
}

/** A grant or rule for everything, or for tools by the beginning of their names, is no yes to this one. Every party must say it. */
function isNamed(effect: Effect, one: Placed, parties: readonly RulesParty[]): boolean {
  const fits = (text: string): boolean => parseSubject(text)?.action === effect.action;
  if (one.yes !== undefined || allowanceIn(effect, one, fits)) return true;
  return (
    parties.length > 0 &&
    parties.every(({ rules, place }) => rules.findAllowance(effect, place, ({ text }) => fits(text)))
  );
}

const allowanceIn = (effect: Effect, one: Placed, fits: (text: string) => boolean): Rule | undefined =>
  grantedBy(
    effect,
    one,
    one.grants.filter((grant) => "allow" in grant && fits(grant.allow)),
  );

function byRights(whole: Effect, one: Placed, untrusted: boolean, parties: readonly RulesParty[]): Decision {
  const { person, role, grants, yes } = one;
  if (role === "stranger") return { verdict: "deny", reason: `${person} is not known here`, person };
  const effect = whole.of === person ? { ...whole, target: undefined } : whole;
  const always = byGrants(effect, one, grants.filter(countsAlways));
  const more = untrusted ? grantedBy(effect, one, grants) : undefined;
  const asked = more === undefined ? always : stricter(always, ofGrant(more, person));
  const byPerson = yes !== undefined && asked.verdict === "ask" ? ofGrant(yes, person) : asked;
  const own = ownRules(effect, one, untrusted);
  const decision = parties
    .map((party) => decideByRules(effect, party, own, untrusted))
    .reduce(stricterWithRule, byPerson);
  if (decision.verdict !== "allow" || !untrusted || !needsQuestion(effect, one.place)) return decision;
  const beforehand = grants.filter(({ when }) => when !== undefined);
  if (yes !== undefined || grantedBy(effect, one, beforehand)?.verdict === "allow") return decision;
  const isRelaxed = parties.length > 0 && parties.every((party) => allowsUntrusted(effect, party));
  return isRelaxed ? decision : { verdict: "ask", reason: UNTRUSTED_REASON, person };
}

/** Of two allowances the one that a rule made: people are told which. */
const stricterWithRule = (a: Decision, b: Decision): Decision => (a.verdict === "allow" && b.rule ? b : stricter(a, b));

/** A question or a denial for untrusted text counts only with such text, and only adds to what is decided without it. */
const countsAlways = (grant: Grant): boolean => grant.when === undefined || "allow" in grant;

/** The grants of a person are rules too: they allow what the defaults of rules would ask about. */
const ownRules = (effect: Effect, one: Placed, untrusted: boolean): OwnRules => {
  const { role, grants, yes } = one;
  const granted = grantedBy(effect, one, untrusted ? grants : grants.filter(countsAlways));
  return {
    reviews: role === "owner",
    granted: granted?.verdict === "deny" ? granted : (yes ?? granted),
    allowance: (fits) => yes ?? allowanceIn(effect, one, fits),
    limits: grants.some((grant) => !("allow" in grant) && limitsCommands(verdictOf(grant).subject)),
  };
};

function limitsCommands(subject: string): boolean {
  const parsed = parsedRule(subject);
  return !("subject" in parsed) || parsed.subject.command !== undefined;
}

function byGrants(effect: Effect, one: Placed, grants: readonly Grant[]): Decision {
  const { person, role } = one;
  const granted = grantedBy(effect, one, grants);
  return granted === undefined ? { ...roleVerdict(role, effect), person } : ofGrant(granted, person);
}

function ofGrant(rule: Rule, person: PersonId): Decision {
  const { verdict } = rule;
  if (verdict === "allow") return { ...ALLOWED, rule };
  const reason = verdict === "ask" ? `a grant of ${person} says to ask first` : `a grant of ${person} denies it`;
  return { verdict, reason, person, rule };
}

/**
 * The strictest of the grants about this effect; undefined if none is. An allowance of a relative path means the workspace of the
 * agent; a question or a denial of one holds in every directory, because a person's agents have several.
 */
function grantedBy(effect: Effect, { person, place }: Placed, grants: readonly Grant[]): Rule | undefined {
  let found: Rule | undefined;
  for (const grant of grants) {
    const { verdict, subject: text } = verdictOf(grant);
    if (found && strictest(found.verdict, verdict) === found.verdict) continue;
    const parsed = parsedRule(text);
    const from = verdict === "allow" ? place : undefined;
    const covers = "subject" in parsed ? coversEffect(parsed.subject, verdict, effect, from) : verdict === "deny";
    if (covers) found = ruleOf(grant, person);
  }
  return found;
}

/** Grants are read again and again: the last ones are kept as they were read. */
const parsed = new Map<string, ParsedRule>();
const MAX_PARSED = 4_096;

function parsedRule(text: string): ParsedRule {
  const known = parsed.get(text);
  if (known) return known;
  const fresh = parseRule(text);
  if (parsed.size >= MAX_PARSED) parsed.clear();
  parsed.set(text, fresh);
  return fresh;
}
