/** Checks the examples in a rule when it is loaded, so that a rule that means something else than its author thinks is refused. */
import type { Verdict } from "../people/grant.ts";
import { EXAMPLE_PLACE, effectsOfCall } from "./call-text.ts";
import { coversEffect } from "./match-rule.ts";
import { parseRule } from "./rule.ts";

interface RuleExamples {
  /** What the rule must be about: what stands in the parentheses of a call, or a whole call. */
  readonly match?: readonly string[];
  readonly notMatch?: readonly string[];
}

/** What is wrong with a rule or its examples, in words for its author; undefined if nothing is. */
export function wrongInRule(verdict: Verdict, text: string, { match = [], notMatch = [] }: RuleExamples = {}) {
  const parsed = parseRule(text);
  if ("wrong" in parsed) return parsed.wrong;
  const [first = ""] = parsed.subject.actions;
  const covers = (example: string): boolean | string => {
    const isCall =
      /^[\w.-]+(?:\(.*\))?$/su.test(example) && (example.includes("(") || parsed.subject.target === undefined);
    const called = effectsOfCall(isCall ? example : `${first}(${example})`);
    if ("wrong" in called) return called.wrong;
    return called.effects.some((effect) => coversEffect(parsed.subject, verdict, effect, EXAMPLE_PLACE));
  };
  for (const example of match) {
    const found = covers(example);
    if (found !== true) return found || `the example "${example}" is not matched by ${text}`;
  }
  for (const example of notMatch) {
    const found = covers(example);
    if (found !== false) return found === true ? `the example "${example}" is matched by ${text}` : found;
  }
  return undefined;
}
