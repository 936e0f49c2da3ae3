/** Rules that are stored beside the configuration: as grants of a person, the owner's too. One commit each, with its audit row. */
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import { type Grant, type Verdict, verdictOf } from "../../core/people/grant.ts";
import { OWNER } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import { wrongInRule } from "../../core/rights/rule-examples.ts";
import type { Actor } from "../people/audit-entry.ts";
import { type Also, addPerson, changePerson, type PeoplePorts } from "../people/change-people.ts";

interface NewRule {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly because?: string;
  readonly when?: "untrusted";
}

/** Throws `InvalidInputError` that says what is wrong with the rule. */
export function grantOfRule({ verdict, rule, because, when }: NewRule): Grant {
  const wrong = wrongInRule(verdict, rule);
  if (wrong !== undefined) throw new InvalidInputError(`The rule "${rule.slice(0, 100)}" is not valid: ${wrong}.`);
  const about = { note: because, when };
  if (verdict === "allow") return { allow: rule.trim(), ...about };
  return verdict === "ask" ? { ask: rule.trim(), ...about } : { deny: rule.trim(), ...about };
}

/** A rule with the same text and verdict is replaced. Durable when it resolves, in force for every effect that starts afterwards. */
export async function addRule(
  ports: PeoplePorts,
  by: Actor,
  person: string,
  rule: NewRule,
  also?: Also,
): Promise<PersonRecord> {
  const grant = grantOfRule(rule);
  await ensureOwner(ports, by, person);
  const change = (record: PersonRecord): PersonRecord => ({ ...record, grants: withGrant(record.grants, grant) });
  return changePerson(ports, by, person, { action: "permission.add", args: { person, ...rule }, change }, also);
}

export function withGrant(grants: readonly Grant[], grant: Grant): readonly Grant[] {
  const { verdict, subject } = verdictOf(grant);
  return [...withoutRule(grants, subject, verdict), grant];
}

/** Removes the rules with this text; `verdict`: only those. */
export const withoutRule = (grants: readonly Grant[], text: string, verdict?: Verdict): readonly Grant[] =>
  grants.filter((grant) => {
    const known = verdictOf(grant);
    return known.subject !== text || (verdict !== undefined && known.verdict !== verdict);
  });

export async function removeRule(ports: PeoplePorts, by: Actor, person: string, text: string): Promise<PersonRecord> {
  await ensureOwner(ports, by, person);
  return changePerson(ports, by, person, {
    action: "permission.remove",
    args: { person, rule: text },
    change: (record) => ({ ...record, grants: removed(record.grants, text, person) }),
  });
}

export function removed(grants: readonly Grant[], text: string, whose: string): readonly Grant[] {
  const kept = withoutRule(grants, text);
  if (kept.length < grants.length) return kept;
  throw new NotFoundError(`There is no stored rule ${text.slice(0, 100)} of ${whose.slice(0, 64)}.`, {
    hint: "`rookery permissions` lists them. Rules of the configuration are changed in its file.",
  });
}

async function ensureOwner(ports: PeoplePorts, by: Actor, person: string): Promise<void> {
  if (person !== OWNER || (await ports.store.person(OWNER))) return;
  await addPerson(ports, by, { id: OWNER, role: "owner" });
}
