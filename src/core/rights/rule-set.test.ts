/** Which of many rules decides: the strictest that is about the effect, in one set and in several. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { VERDICTS } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import { coversEffect } from "./match-rule.ts";
import { parseRule, type Rule } from "./rule.ts";
import { NO_RULES, ruleSet, unionOf } from "./rule-set.ts";
import { allowsUntrusted } from "./untrusted-rules.ts";

const rule = (verdict: Rule["verdict"], text: string, more: Partial<Rule> = {}): Rule => ({
  ...{ verdict, text, source: "s" },
  ...more,
});
const effect = (action: string, more: Partial<Effect> = {}): Effect => ({ action, rights: [], ...more });
const command = (...argv: string[]): Effect => effect("exec", { detail: { kind: "command", argv, cwd: "/" } });
const PLACE = { workspace: "/w", home: "/h" };

const TEXTS = [
  ...[
    "exec",
    "exec(*)",
    "exec(git *)",
    "exec(git|rm push)",
    "exec(/usr/bin/git *)",
    "exec(g* push)",
    "ex*",
    "*",
    "exec(git|r* *)",
  ],
  ...["write", "write(src/**)", "read(/etc/**)", "web(domain:example.org)", "cron_add", "mcp__a", "mcp__a__b"],
];
const EFFECTS: readonly Effect[] = [
  ...[command("git", "push"), command("/usr/bin/git", "log"), command("RM", "push"), command("ls"), command()],
  effect("exec"),
  effect("cron_add"),
  effect("mcp__a__b"),
  effect("edit", { detail: { kind: "path", access: "write", path: "/w/src/a" } }),
  effect("exec", { detail: { kind: "path", access: "read", path: "/etc/x" } }),
  effect("web_fetch", { detail: { kind: "host", host: "www.example.org", port: 443 } }),
];

/** Every rule is compared with the effect: what the index of a set must not change. */
function strictestOf(rules: readonly Rule[], one: Effect): Rule | undefined {
  const about = rules.filter(({ verdict, text }) => {
    const parsed = parseRule(text);
    return "subject" in parsed && coversEffect(parsed.subject, verdict, one, PLACE);
  });
  const verdict = VERDICTS.findLast((strict) => about.some((found) => found.verdict === strict));
  return about.find((found) => found.verdict === verdict);
}

const someRules = fc.array(
  fc.record({ verdict: fc.constantFrom(...VERDICTS), text: fc.constantFrom(...TEXTS), source: fc.constant("s") }),
  { maxLength: 8 },
);

describe("a set of rules", () => {
  test("finds what a look at every rule finds, and of equally strict rules the first, also when it is made of several sets", () => {
    fc.assert(
      fc.property(someRules, someRules, fc.constantFrom(...EFFECTS), (first, second, one) => {
        expect(ruleSet(first).find(one, PLACE)).toBe(strictestOf(first, one));
        const both = unionOf([ruleSet(first), NO_RULES, ruleSet(second)]);
        expect(both.find(one, PLACE)).toBe(strictestOf([...first, ...second], one));
        expect(both.rules).toEqual([...first, ...second]);
      }),
      { numRuns: tries(400) },
    );
  });

  test("finds a program in whatever form its name is written", () => {
    const set = ruleSet([rule("deny", "exec(caf\u00e9 *)"), rule("deny", "exec(the\u0301 *)")]);
    for (const program of ["caf\u00e9", "cafe\u0301", "/bin/CAFE\u0301", "th\u00e9", "the\u0301"])
      expect(set.find(command(program, "x"))?.verdict).toBe("deny");
  });

  test("finds the first allowance that fits, also behind stricter rules and others that do not fit", () => {
    fc.assert(
      fc.property(someRules, someRules, fc.constantFrom(...EFFECTS), (first, second, one) => {
        const fits = (text: string): boolean => text.includes("(");
        const firstOf = (rules: readonly Rule[]): Rule | undefined =>
          rules.find((each) => each.verdict === "allow" && fits(each.text) && strictestOf([each], one));
        const sets = [ruleSet(first), ruleSet(second)] as const;
        expect(sets[0].findAllowance(one, PLACE, ({ text }) => fits(text))).toBe(firstOf(first));
        expect(unionOf(sets).findAllowance(one, PLACE, ({ text }) => fits(text))).toBe(firstOf([...first, ...second]));
        expect(sets[0].findAllowance(one, PLACE, (_rule, { target }) => target !== undefined)).toBe(firstOf(first));
      }),
      { numRuns: tries(200) },
    );
  });

  test("asks about every target of an action, but about a named target only there", () => {
    const to = (target: string): Effect => effect("send", { target });
    expect(ruleSet([rule("ask", "send")]).find(to("telegram:42"))?.verdict).toBe("ask");
    const named = ruleSet([rule("ask", "send(telegram:42)")]);
    expect(named.find(to("telegram:42"))?.verdict).toBe("ask");
    expect(named.find(to("telegram:43"))).toBeUndefined();
    expect(named.find(effect("send"))).toBeUndefined();
    expect(ruleSet([rule("allow", "send")]).find(to("telegram:42"))).toBeUndefined();
  });
});

describe("a rule whose text is wrong", () => {
  const wrong = "web(example.org)";
  test.each<[Rule["verdict"], string, string, boolean]>([
    ["deny", wrong, "web_fetch", true],
    ["ask", wrong, "web_fetch", true],
    ["allow", wrong, "web_fetch", false],
    ["deny", wrong, "cron_add", false],
    ["deny", "web (example.org)", "web_fetch", true],
    ["deny", "web (example.org)", "cron_add", false],
    ["deny", "what is this", "cron_add", true],
    ["ask", "what is this(x)", "cron_add", true],
    ["deny", "cron_add!", "write", true],
    ["allow", "what is this", "cron_add", false],
  ])("%s %s is about %s: %s", (verdict, text, action, is) => {
    expect(ruleSet([rule(verdict, text)]).find(effect(action)) !== undefined).toBe(is);
  });
});

describe("with text of others in context", () => {
  const when = "untrusted";
  const toHost = effect("web_fetch", { detail: { kind: "host", host: "a.org" } });

  test("a question or denial for that case counts only then, an allowance always", () => {
    for (const verdict of ["ask", "deny"] as const) {
      const set = ruleSet([rule(verdict, "cron_add", { when })]);
      expect(set.find(effect("cron_add"))).toBeUndefined();
      expect(set.find(effect("cron_add"), PLACE, true)?.verdict).toBe(verdict);
    }
    expect(ruleSet([rule("allow", "cron_add", { when })]).find(effect("cron_add"))?.verdict).toBe("allow");
  });

  test.each<[string, Rule, boolean, boolean]>([
    ["an allowance for that case", rule("allow", "web", { when }), true, true],
    ["an allowance that names its target", rule("allow", "web(domain:a.org)"), false, true],
    ["any other allowance", rule("allow", "web"), false, false],
    ["an allowance of another target", rule("allow", "web(domain:b.org)", { when }), false, false],
    ["a denial for that case", rule("deny", "web", { when }), false, false],
    ["a denial that names its target", rule("deny", "web(domain:a.org)"), false, false],
  ])("%s is a yes made for it: %s, and where its name is enough: %s", (_title, one, made, named) => {
    const other = ruleSet([rule("deny", "cron_add")]);
    for (const set of [ruleSet([one]), unionOf([other, ruleSet([one])]), unionOf([ruleSet([one]), other])]) {
      expect(allowsUntrusted(toHost, { rules: set })).toBe(made);
      expect(allowsUntrusted(toHost, { rules: set, place: PLACE, untrusted: "rules" })).toBe(named);
    }
  });
});

test("several sets limit commands if one of them does, and none are no rules", () => {
  const [limits, allows] = [ruleSet([rule("deny", "exec(rm *)")]), ruleSet([rule("allow", "exec(ls)")])];
  expect(unionOf([allows, limits]).limitsCommands).toBe(true);
  expect(unionOf([allows, ruleSet([rule("allow", "cron_add")])]).limitsCommands).toBe(false);
  expect(unionOf([NO_RULES, limits])).toBe(limits);
  expect(unionOf([])).toBe(NO_RULES);
});
