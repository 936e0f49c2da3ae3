/**
 * The rules of one place, ready for use: found by action and by the first word of a command, so that hundreds of them cost little
 * per call. Of all rules that are about an effect the strictest wins; how exact they are does not count.
 */
import { VERDICTS } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import { actionsOf, coversEffect, type Place } from "./match-rule.ts";
import { folded, parseRule, type Rule, type RuleSubject } from "./rule.ts";

type Judged = Pick<Effect, "action" | "target" | "detail">;

export interface RuleSet {
  readonly rules: readonly Rule[];
  /** The strictest rule about this effect; of equals the first. `untrusted`: text of others is in context. */
  find(effect: Judged, place?: Place, untrusted?: boolean): Rule | undefined;
  /** The first allowance about this effect that fits. A yes that must be worded in a certain way does not depend on the order of rules. */
  findAllowance(effect: Judged, place: Place | undefined, fits: Fits): Rule | undefined;
  /** Whether some rule asks about or denies certain commands: then a line that cannot be read may hold one of them. */
  readonly limitsCommands: boolean;
}

export type Fits = (rule: Rule, subject: RuleSubject) => boolean;

interface Compiled {
  /** Its place among the rules. */
  readonly at: number;
  readonly rule: Rule;
  readonly subject: RuleSubject;
}

/** Rules whose text is wrong: a denial or question then covers its whole action, an allowance nothing. Configuration refuses them. */
export function ruleSet(rules: readonly Rule[]): RuleSet {
  const compiled = rules.flatMap((rule, at): readonly Compiled[] => {
    const subject = subjectOf(rule);
    return subject ? [{ at, rule, subject }] : [];
  });
  const byAction = new Map<string, Compiled[]>();
  const byProgram = new Map<string, Compiled[]>();
  const loose: Compiled[] = [];
  const put = (map: Map<string, Compiled[]>, key: string, one: Compiled): void => {
    const known = map.get(key);
    if (known) known.push(one);
    else map.set(key, [one]);
  };
  for (const one of compiled) {
    const programs = one.subject.command?.words[0];
    if (programs && !programs.some((word) => word.includes("*") || word.includes("/"))) {
      for (const word of programs) put(byProgram, folded(word), one);
    } else if (one.subject.actions.some((action) => action.endsWith("*"))) loose.push(one);
    else for (const action of one.subject.actions) put(byAction, action, one);
  }
  const candidates = ({ action, detail }: Judged): readonly (readonly Compiled[])[] => [
    ...actionsOf({ action, detail }).map((used) => byAction.get(used) ?? NONE),
    detail?.kind === "command" ? (byProgram.get(baseName(detail.argv[0] ?? "")) ?? NONE) : NONE,
    loose,
  ];
  return {
    rules,
    limitsCommands: compiled.some(({ rule, subject }) => rule.verdict !== "allow" && subject.command !== undefined),
    find(effect, place, untrusted) {
      let found: Compiled | undefined;
      for (const bucket of candidates(effect)) {
        for (const one of bucket) {
          if (found && !isBefore(one, found)) continue;
          const counts = one.rule.when === undefined || one.rule.verdict === "allow" || untrusted;
          if (counts && isAbout(one, effect, place)) found = one;
        }
      }
      return found?.rule;
    },
    findAllowance(effect, place, fits) {
      return candidates(effect)
        .flat()
        .toSorted((a, b) => a.at - b.at)
        .find((one) => one.rule.verdict === "allow" && fits(one.rule, one.subject) && isAbout(one, effect, place))
        ?.rule;
    },
  };
}

export const NO_RULES: RuleSet = ruleSet([]);

/** Several sets as one. */
export function unionOf(sets: readonly RuleSet[]): RuleSet {
  const full = sets.filter(({ rules }) => rules.length > 0);
  if (full.length <= 1) return full[0] ?? NO_RULES;
  return {
    rules: full.flatMap(({ rules }) => rules),
    limitsCommands: full.some((set) => set.limitsCommands),
    find(effect, place, untrusted) {
      let found: Rule | undefined;
      for (const set of full) {
        const one = set.find(effect, place, untrusted);
        if (one && (!found || isStricter(one, found))) found = one;
      }
      return found;
    },
    findAllowance(effect, place, fits) {
      for (const set of full) {
        const one = set.findAllowance(effect, place, fits);
        if (one) return one;
      }
      return undefined;
    },
  };
}

const NONE: readonly Compiled[] = [];

const baseName = (program: string): string => folded(program.slice(program.lastIndexOf("/") + 1));

const isStricter = (a: Rule, b: Rule): boolean => VERDICTS.indexOf(a.verdict) > VERDICTS.indexOf(b.verdict);

/** The buckets of the index do not keep the order of the rules. */
const isBefore = (a: Compiled, b: Compiled): boolean =>
  a.rule.verdict === b.rule.verdict ? a.at < b.at : isStricter(a.rule, b.rule);

/** A question about an action covers every target of it, as a denial does. */
const isAbout = ({ rule, subject }: Compiled, effect: Judged, place: Place | undefined): boolean =>
  coversEffect(
    subject,
    rule.verdict,
    rule.verdict === "ask" && subject.target === undefined ? { ...effect, target: undefined } : effect,
    place,
  );

function subjectOf({ text, verdict }: Rule): RuleSubject | undefined {
  const parsed = parseRule(text);
  if ("subject" in parsed) return parsed.subject;
  if (verdict === "allow") return undefined;
  const action = text.slice(0, text.indexOf("(") === -1 ? undefined : text.indexOf("("));
  const whole = parseRule(action);
  return "subject" in whole ? whole.subject : { actions: ["*"] };
}
