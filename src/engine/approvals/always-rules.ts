/**
 * The rules that a yes for always stores: grants of everyone on the way of a call whose rights or defaults say to ask. A rule names what
 * was asked in the width that a person chose, and nothing else; what a rule of the configuration asks about stays asked about (M31).
 */
import type { AgentRecord } from "../../core/agent/agent.ts";
import { InvalidInputError } from "../../core/errors.ts";
import { everyone, isUntrusted } from "../../core/people/behalf.ts";
import { type Grant, verdictOf } from "../../core/people/grant.ts";
import { OWNER, type PersonId, type PersonRecord } from "../../core/people/person.ts";
import type { Approval } from "../../core/rights/approval.ts";
import { type Effect, judge } from "../../core/rights/decide.ts";
import { RULE_WIDTHS, type RuleWidth, ruleTextOf } from "../../core/rights/rule-widths.ts";
import type { RulesParty } from "../../core/rights/rules-party.ts";
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

/** By width: the rules, or why there are none. */
export type AlwaysWidths = Readonly<Record<RuleWidth, readonly AlwaysRule[] | { readonly not: string }>>;

export const isMarked = (approval: Pick<Approval, "behalf">, agent: AgentRecord | undefined): boolean =>
  isUntrusted(approval.behalf) || (agent?.state.untrusted ?? agent?.state.madeUntrusted ?? false);

export function alwaysWidths(people: PeopleNow, approval: Approval, under: AskedUnder): AlwaysWidths {
  const of = (width: RuleWidth) => {
    try {
      return alwaysRecords(people, approval, under, { width, by: OWNER, at: 0 }).rules;
    } catch (error) {
      if (error instanceof InvalidInputError) return { not: error.message };
      throw error;
    }
  };
  return Object.fromEntries(RULE_WIDTHS.map((width) => [width, of(width)])) as AlwaysWidths;
}

/** One line per width, for people; undefined if all widths are the same rule. */
export function widthLines(widths: AlwaysWidths): readonly string[] | undefined {
  const texts = RULE_WIDTHS.map((width) => ruleLine(widths[width]));
  return new Set(texts).size === 1 ? undefined : RULE_WIDTHS.map((width, at) => `${width.padEnd(6)}  ${texts[at]}`);
}

function ruleLine(rules: AlwaysWidths[RuleWidth]): string {
  if ("not" in rules) return rules.not;
  const texts = rules.map(
    ({ allow, person, when }) =>
      `allow ${visibleLine(allow)} for ${person}${when === undefined ? "" : ", also with untrusted text in context"}`,
  );
  return [...new Set(texts)].join("; ");
}

interface Storing {
  readonly width: RuleWidth;
  readonly by: PersonId;
  readonly at: number;
}

/** The records with their new rules. Throws a typed error that says what to do if the rules would not help. */
export function alwaysRecords(people: PeopleNow, approval: Approval, under: AskedUnder, storing: Storing) {
  const { id, behalf, effects = [] } = approval;
  const records = new Map<PersonId, PersonRecord>();
  const rules: AlwaysRule[] = [];
  const asks = (effect: Effect, one: PersonId, record?: PersonRecord) => {
    const standing = people.standing(one);
    return judge(effect, record ? { ...standing, grants: record.grants } : standing, under.untrusted, under.rules);
  };
  for (const one of new Set(everyone(behalf).map(people.personOf))) {
    for (const effect of effects) {
      const record = records.get(one) ?? people.record(one) ?? freshOwner(one, storing.at);
      if (asks(effect, one, record).verdict !== "ask") continue;
      if (!record) throw noRule(`${one} has no record that could keep the rule`, one);
      const rule = ruleFor(effect, one, storing.width, under.untrusted);
      records.set(one, withRule(record, rule, `approval ${id} by ${storing.by}`));
      rules.push(rule);
    }
  }
  for (const [one, record] of records) {
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

const UNNAMED = "it has no rule of this width, because it cannot be read or has a wildcard";

function ruleFor(effect: Effect, person: PersonId, width: RuleWidth, untrusted: boolean): AlwaysRule {
  const own = effect.of === person ? { ...effect, target: undefined } : effect;
  const allow = ruleTextOf(own, width);
  if (allow === undefined) throw noRule(UNNAMED, person);
  return { person, allow, when: untrusted ? "untrusted" : undefined };
}

function withRule(record: PersonRecord, { allow, when }: AlwaysRule, note: string): PersonRecord {
  const kept = record.grants.filter((grant) => {
    const { verdict, subject } = verdictOf(grant);
    return subject !== allow || (verdict !== "ask" && verdict !== "allow");
  });
  const rule: Grant = { allow, note, when };
  return { ...record, grants: [...kept, rule] };
}

const noRule = (why: string, person: string): InvalidInputError =>
  new InvalidInputError(`No rule was stored: ${why}.`, {
    hint: `Say yes without "always", choose another width, or change the rules (\`rookery permissions list --for ${person}\`). Nothing was decided.`,
  });
