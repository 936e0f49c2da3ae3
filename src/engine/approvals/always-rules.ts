/**
 * The rules that a yes for always stores: grants of everyone on the way of a call whose rights or defaults say to ask. Offered are exactly
 * this call, by its digest, and where there is one a pattern that people read in full; never a whole tool. A rule of the
 * configuration still asks (M43).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { cutText } from "../../core/cut-text.ts";
import { InvalidInputError } from "../../core/errors.ts";
import { everyone, isUntrusted } from "../../core/people/behalf.ts";
import { type Grant, MAX_GRANTS, verdictOf } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { Approval } from "../../core/rights/approval.ts";
import { type Effect, judge } from "../../core/rights/decide.ts";
import { patternOf } from "../../core/rights/rule-of-effect.ts";
import type { RulesParty } from "../../core/rights/rules-party.ts";
import { ALWAYS_SCOPES, type AlwaysScope, alwaysText, standingYes } from "../../core/rights/standing-yes.ts";
import { visibleLine } from "../../core/visible-text.ts";
import type { PeopleNow } from "../people/directory.ts";

/** What the call was judged by, as it is now. */
export interface AskedUnder {
  readonly rules: readonly RulesParty[];
  readonly untrusted: boolean;
}

/** A rule that would be stored. */
interface AlwaysRule {
  readonly person: PersonId;
  readonly allow: string;
  /** It also counts while text of others is in context. */
  readonly when?: "untrusted";
}

/** By scope: the rules, or why there are none. */
export type AlwaysOffers = Readonly<Record<AlwaysScope, readonly AlwaysRule[] | { readonly not: string }>>;

export const isMarked = (approval: Pick<Approval, "behalf">, agent: AgentRecord | undefined): boolean =>
  isUntrusted(approval.behalf) || (agent?.state.untrusted ?? agent?.state.madeUntrusted ?? false);

export function alwaysOffers(people: PeopleNow, approval: Approval, under: AskedUnder): AlwaysOffers {
  const of = (scope: AlwaysScope) => {
    try {
      return alwaysRecords(people, approval, under, { scope, by: OWNER, at: 0 }).rules;
    } catch (error) {
      if (error instanceof InvalidInputError) return { not: error.message };
      throw error;
    }
  };
  return { call: of("call"), pattern: of("pattern") };
}

/** The scopes that can be stored, each with all that it would allow, for people. */
export function offered(offers: AlwaysOffers): readonly { readonly scope: AlwaysScope; readonly text: string }[] {
  return ALWAYS_SCOPES.flatMap((scope) => {
    const rules = offers[scope];
    return "not" in rules ? [] : [{ scope, text: [...new Set(rules.map(ruleLine))].join("; ") }];
  });
}

/** For people: what "always" would store, or why nothing. */
export function offerLines(offers: AlwaysOffers): readonly string[] {
  const lines = offered(offers).map(({ scope, text }) => `${scope.padEnd(7)}  ${text}`);
  return lines.length === 0 && "not" in offers.call ? [offers.call.not] : lines;
}

const ruleLine = (rule: AlwaysRule): string => visibleLine(alwaysText(rule));

interface Storing {
  readonly scope: AlwaysScope;
  readonly by: PersonId;
  readonly at: number;
}

/** The records with their new rules. Throws a typed error that says what to do if the rules would not help. */
export function alwaysRecords(people: PeopleNow, approval: Approval, under: AskedUnder, storing: Storing) {
  const { behalf, effects = [], tool, digest } = approval;
  const records = new Map<PersonId, PersonRecord>();
  const rules: AlwaysRule[] = [];
  const asks = (effect: Effect, one: PersonId, record?: PersonRecord) => {
    const standing = people.standing(one);
    const rights = record ? { ...standing, grants: record.grants } : standing;
    return judge(effect, rights, under.untrusted, under.rules, standingYes(tool, digest));
  };
  for (const one of new Set(everyone(behalf).map(people.personOf))) {
    for (const effect of effects) {
      const record = records.get(one) ?? people.record(one) ?? freshOwner(one, storing.at);
      if (asks(effect, one, record).verdict !== "ask") continue;
      if (!record) throw noRule(`${one} has no record that could keep the rule`, one);
      const rule = ruleFor(approval, effect, one, storing.scope, under.untrusted);
      records.set(one, withRule(record, rule, noteOf(approval, storing)));
      rules.push(rule);
    }
  }
  for (const [one, record] of records) {
    if (record.grants.length > MAX_GRANTS) throw noRule(`${one} has ${MAX_GRANTS} rules already`, one);
    const still = effects.map((effect) => asks(effect, one, record)).find(({ verdict }) => verdict === "ask");
    if (still?.rule?.source === one) throw noRule(`a broader grant of ${one} says to ask`, one);
    if (still) throw noRule(still.reason, one);
  }
  if (records.size === 0) throw noRule("no grant of a person asked for it", behalf.person);
  return { records: [...records.values()], rules };
}

/** The owner has a record only to keep rules. */
const freshOwner = (person: PersonId, at: number): PersonRecord | undefined =>
  person === OWNER
    ? { id: OWNER, role: "owner", accounts: [], grants: [], createdAt: at, createdBy: OWNER }
    : undefined;

const UNNAMED = "there is no pattern for it, only exactly this call";

function ruleFor(
  { tool, digest }: Approval,
  effect: Effect,
  person: PersonId,
  scope: AlwaysScope,
  untrusted: boolean,
): AlwaysRule {
  const own = effect.of === person ? { ...effect, target: undefined } : effect;
  const allow = scope === "call" ? standingYes(tool, digest) : patternOf(own);
  if (allow === undefined) throw noRule(UNNAMED, person);
  return { person, allow, when: untrusted ? "untrusted" : undefined };
}

/** Why a rule is stored, and for exactly one call what it is. */
function noteOf(approval: Approval, { by, scope }: Storing): Pick<Grant, "note" | "shows"> {
  return { note: `approval ${approval.id} by ${by}`, shows: scope === "call" ? callLine(approval) : undefined };
}

const MAX_SHOWN = 600;

/** The call in one line, from its question. The whole is in the question. */
function callLine({ id, prompt }: Approval): string {
  const [first = "", ...rest] = prompt.split("\n");
  const isOther = (text: string): boolean => !text.startsWith("  ") && !text.startsWith("It works in ");
  const line = [first, ...rest.filter((text) => !isOther(text))].map((text) => text.trim()).join(" ");
  if (line.length <= MAX_SHOWN) return line;
  return `${cutText(line, MAX_SHOWN)}… ${line.length - MAX_SHOWN} more characters in approval ${id}`;
}

function withRule(
  record: PersonRecord,
  { allow, when }: AlwaysRule,
  about: Pick<Grant, "note" | "shows">,
): PersonRecord {
  const kept = record.grants.filter((grant) => {
    const { verdict, subject } = verdictOf(grant);
    return subject !== allow || (verdict !== "ask" && verdict !== "allow");
  });
  const rule: Grant = { allow, ...about, when };
  return { ...record, grants: [...kept, rule] };
}

const noRule = (why: string, person: string): InvalidInputError =>
  new InvalidInputError(`No rule was stored: ${why}.`, {
    hint: `Say yes without "always", or change the rules (\`rookery permissions list --for ${person}\`). Nothing was decided.`,
  });
