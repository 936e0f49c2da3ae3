/** Rules of the gate: what agents may do without asking, what asks, what never happens. For all profiles, and for one. */
import type { z } from "zod";
import { VERDICTS } from "../../core/people/grant.ts";
import { wrongInRule } from "../../core/rights/rule-examples.ts";
import { list, oneOf, section, text } from "../values.ts";

const RULE = "a rule, such as exec(git push *), write(src/**) or web(domain:example.org)";
const MAX_RULES = 1_000;
const MAX_EXAMPLES = 50;

const examples = () =>
  list(text("a call that the rule is about").max(1_000))
    .refine((all) => all.length <= MAX_EXAMPLES, { error: `expected at most ${MAX_EXAMPLES} examples` })
    .optional();

const longRule = section({
  rule: text(RULE).max(1_000),
  /** Told to the model and to people. */
  because: text("the reason for the rule").max(1_000).optional(),
  /** Calls that it must be about, and calls that it must not be about: checked when the configuration is read. */
  match: examples(),
  notMatch: examples(),
  when: oneOf(["untrusted"]).optional(),
});

const rule = () => text(RULE).max(1_000).or(longRule);

const rules = () =>
  list(rule())
    .refine((all) => all.length <= MAX_RULES, { error: `expected at most ${MAX_RULES} rules` })
    .optional();

/** `what`: where it stands, for the texts of errors. */
export const permissionsSchema = section({
  allow: rules().describe(
    "what happens without a question: a rule such as `exec(npm test *)`, or `{ rule, because, match, notMatch, when }`",
  ),
  ask: rules().describe("what needs an approval"),
  deny: rules().describe("what never happens"),
  untrusted: oneOf(["ask", "rules", "off"])
    .optional()
    .describe(
      "what untrusted text in context changes: calls ask even if a rule allows them (`ask`, if it is not set), except those that a rule names exactly (`rules`), or nothing (`off`)",
    ),
})
  .superRefine((permissions, context) => {
    for (const verdict of VERDICTS) {
      for (const [at, one] of (permissions[verdict] ?? []).entries()) {
        const given = typeof one === "string" ? { rule: one } : one;
        const wrong = wrongInRule(verdict, given.rule, given);
        if (wrong !== undefined) context.addIssue({ code: "custom", path: [verdict, at], message: wrong });
      }
    }
  })
  .meta({ description: "rules for every agent", page: "permissions.md" });
export type Permissions = z.output<typeof permissionsSchema>;
