/** Rules: what each spelling is about, how strict verdicts combine, and that nothing gets around them (L13). */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { tries } from "../../../test/kit/share.ts";
import { type Grant, strictest, VERDICTS, type Verdict } from "../people/grant.ts";
import { OWNER, type PersonId } from "../people/person.ts";
import { effectsOfCall } from "./call-text.ts";
import { type Decision, decide, type Effect, type Situation, stricter } from "./decide.ts";
import { coversEffect } from "./match-rule.ts";
import { parseRule, type Rule } from "./rule.ts";
import { wrongInRule } from "./rule-examples.ts";
import { ruleSet } from "./rule-set.ts";
import type { RulesParty } from "./rules-party.ts";
import { isSafeCommand } from "./safe-commands.ts";

const PLACE = { workspace: "/home/you/work", home: "/home/you" };
const effectsOf = (call: string): readonly Effect[] => {
  const called = effectsOfCall(call, PLACE);
  if ("wrong" in called) throw new TypeError(called.wrong);
  return called.effects;
};
const isAbout = (verdict: Verdict, rule: string, call: string): boolean => {
  const parsed = parseRule(rule);
  if ("wrong" in parsed) throw new TypeError(parsed.wrong);
  return effectsOf(call).some((effect) => coversEffect(parsed.subject, verdict, effect, PLACE));
};

describe("what a rule is about, as an allowance", () => {
  test.each<[string, string, boolean]>([
    ["exec(git push *)", "exec(git push origin main)", true],
    ["exec(git push *)", "exec(git push)", true],
    ["exec(git push *)", "exec(git pull)", false],
    ["exec(git push *)", "exec(git pushy)", false],
    ["exec(git push *)", "exec(/tmp/git push)", false],
    ["exec(git push *)", "exec(git -C . push)", false],
    ["exec(git push *)", "exec(GIT push)", false],
    ["exec(git status)", "exec(git status)", true],
    ["exec(git status)", "exec(git status -s)", false],
    ["exec(git push|fetch *)", "exec(git fetch origin)", true],
    ["exec(git push|fetch *)", "exec(git pull)", false],
    ["exec(npm run test:*)", "exec(npm run test:unit)", true],
    ["exec(npm run test:*)", "exec(npm run test:unit --watch)", false],
    ["exec(npm run *)", "exec(npm run build -- --force)", true],
    ["exec(echo 'a b')", "exec(echo 'a b')", true],
    ["exec(echo 'a b')", "exec(echo a b)", false],
    ["exec(*)", "exec(make all)", true],
    ["exec", "exec(make all)", true],
    ["Bash(git commit:*)", "exec(git commit -m x)", true],
    ["write(src/**)", "write(src/a/b.ts)", true],
    ["write(src/**)", "edit(src/a.ts)", true],
    ["write(src/**)", "apply_patch(src/a.ts)", true],
    ["write(src/**)", "write(src/../.env)", false],
    ["write(src/**)", "write(/etc/src/a)", false],
    ["write(src/**)", "read(src/a.ts)", false],
    ["write(src/*.ts)", "write(src/a.ts)", true],
    ["write(src/*.ts)", "write(src/a/b.ts)", false],
    ["write(src/?.ts)", "write(src/ab.ts)", false],
    ["read(**)", "read(a/b)", true],
    ["read(**)", "grep(a)", true],
    ["read(**)", "read(/etc/passwd)", false],
    ["read(~/notes/**)", "read(/home/you/notes/x)", true],
    ["read(/etc/hosts)", "read(/etc/hosts)", true],
    ["Edit(src/**)", "edit(src/a.ts)", true],
    ["web(domain:example.org)", "web(https://example.org/x)", true],
    ["web(domain:example.org)", "web(docs.example.org)", true],
    ["web(domain:example.org)", "web(example.org.evil.net)", false],
    ["web(domain:example.org)", "web(notexample.org)", false],
    ["web(domain:Example.org.)", "web(https://EXAMPLE.org/)", true],
    ["web(domain:example.org:8443)", "web(https://example.org:8443/)", true],
    ["web(domain:example.org:8443)", "web(https://example.org/)", false],
    ["web", "web(anywhere.net)", true],
    ["WebFetch(domain:example.org)", "web(example.org)", true],
    ["mcp__files__read", "mcp__files__read", true],
    ["mcp__files", "mcp__files__read", true],
    ["mcp__files", "mcp__filesystem__read", false],
    ["mcp__files__*", "mcp__files__write", true],
    ["cron_add", "cron_add", true],
    ["cron_*", "cron_add", true],
    ["send_agent_message(agent:clerk)", "send_agent_message(agent:clerk)", true],
    ["send_agent_message(agent:clerk)", "send_agent_message(agent:boss)", false],
  ])("%s, %s: %s", (rule, call, about) => expect(isAbout("allow", rule, call)).toBe(about));
});

describe("what a denial is about: no other spelling gets around it", () => {
  test.each<[string, string, boolean]>([
    ["exec(git push)", "exec(git push origin main)", true],
    ["exec(git push *)", "exec(/usr/bin/git push)", true],
    ["exec(git push *)", "exec(GIT PUSH)", true],
    ["exec(git push *)", "exec(git -C /x push)", true],
    ["exec(git push *)", "exec(git -c a=b --no-pager push)", true],
    ["exec(git push *)", "exec('git' \"push\")", true],
    ["exec(git push *)", "exec(git status && git push)", true],
    ["exec(git push *)", "exec(git status; git push)", true],
    ["exec(git push *)", "exec(true | git push)", true],
    ["exec(git push *)", "exec(git commit -m push)", false],
    ["exec(git push *)", "exec(git log --grep push)", false],
    ["exec(rm *)", "exec(ls && /bin/rm -rf x)", true],
    ["write(**/.env)", "write(a/b/.env)", true],
    ["write(**/.env)", "write(/other/.env)", true],
    ["write(**/.env)", "write(a/.ENV)", true],
    ["write(secrets)", "write(secrets/a)", true],
    ["write(secrets)", "exec(echo x > secrets/a)", true],
    ["read(**/.env)", "exec(cat < .env)", true],
    ["web(domain:evil.net)", "web(a.b.EVIL.net.)", true],
    ["write", "edit(a)", true],
    ["send_agent_message", "send_agent_message(agent:clerk)", true],
  ])("%s, %s: %s", (rule, call, about) => expect(isAbout("deny", rule, call)).toBe(about));
});

describe("rules that are refused", () => {
  test.each([
    ["", /ACTION/u],
    ["exec(", /ACTION/u],
    ["exec(a && b)", /cannot be read|one command/u],
    ["exec(echo $x)", /variable/u],
    ["exec('a)", /quote/u],
    ["exec(a > b)", /one command/u],
    ["web(example.org)", /domain/u],
    ["web(domain:a/b)", /domain/u],
    ["web(domain:a:99999999)", /domain/u],
    ["a b", /ACTION/u],
  ])("%s", (text, why) => expect(wrongInRule("deny", text)).toMatch(why));

  test.each<[Verdict, string, readonly string[], readonly string[], RegExp | undefined]>([
    ["deny", "exec(git push *)", ["git push origin", "git -C x push"], ["git pull"], undefined],
    ["allow", "exec(git push *)", ["git -C x push"], [], /"git -C x push" is not matched/u],
    ["deny", "exec(git push *)", [], ["git push"], /"git push" is matched/u],
    ["allow", "write(src/**)", ["src/a.ts"], ["test/a.ts", "../x"], undefined],
    ["allow", "web(domain:example.org)", ["https://www.example.org/a"], ["example.com"], undefined],
    ["ask", "mcp__files", ["mcp__files__read"], ["mcp__other__read"], undefined],
    ["allow", "cron_*", ["cron_add"], ["heartbeat_add"], undefined],
  ])("%s %s with examples", (verdict, text, match, notMatch, why) => {
    const wrong = wrongInRule(verdict, text, { match, notMatch });
    if (why) expect(wrong).toMatch(why);
    else expect(wrong).toBeUndefined();
  });
});

const rule = (verdict: Verdict, text: string, more: Partial<Rule> = {}): Rule => ({
  ...{ verdict, text, source: "permissions" },
  ...more,
});
const owner = (...grants: readonly Grant[]) => ({ person: OWNER, role: "owner", grants }) as const;
const guest = (...grants: readonly Grant[]) => ({ person: "ann" as PersonId, role: "guest", grants }) as const;
const USER_MD = "write(/home/you/work/USER.md)";
const granting = (...allowed: readonly string[]): Partial<Situation> => ({
  people: [owner(...allowed.map((allow) => ({ allow })))],
});
const situation = (
  rules: readonly Rule[],
  more: Partial<Situation> = {},
  party: Partial<RulesParty> = {},
): Situation => ({
  ...{ people: [owner()], kind: "user", rules: [{ rules: ruleSet(rules), place: PLACE, ...party }] },
  ...more,
});
const judged = (call: string, where: Situation): Decision =>
  effectsOf(call)
    .map((effect) => decide(effect, where))
    .reduce(stricter);

describe("what the gate decides by rules", () => {
  const asUser: readonly [string, readonly Rule[], Partial<Situation>, Verdict, RegExp][] = [
    ["exec(make)", [], {}, "ask", /no rule allows exec\(make\)/u],
    ["exec(ls -la src)", [], {}, "allow", /^$/u],
    ["exec(git status)", [], {}, "ask", /no rule allows exec\(git status\)/u],
    ["exec(git status)", [rule("allow", "exec(git status *)")], {}, "allow", /^$/u],
    ["exec(ls && make)", [], {}, "ask", /make/u],
    ["exec(ls > out.txt)", [], {}, "allow", /^$/u],
    ["exec(ls > secret/x)", [rule("deny", "write(secret/**)")], {}, "deny", /write\(secret/u],
    ["exec(echo $(make))", [], {}, "ask", /cannot be judged: it has a command substitution/u],
    ["exec(echo $(make))", [rule("allow", "exec")], {}, "allow", /^$/u],
    ["exec(echo $(make))", [rule("allow", "exec(*)")], {}, "allow", /^$/u],
    ["exec(echo $(make))", [rule("allow", "exec(echo *)")], {}, "ask", /cannot be judged/u],
    ["exec(echo $(make))", [rule("deny", "exec(*)")], {}, "deny", /deny exec\(\*\)/u],
    ["exec(echo $(make))", [rule("ask", "exec(*)")], {}, "ask", /ask exec\(\*\)/u],
    ["exec(echo $(make))", [rule("deny", "exec(echo *)")], {}, "ask", /cannot be judged/u],
    ["exec(echo $(make))", [rule("allow", "exec"), rule("deny", "exec(rm *)")], {}, "ask", /cannot be judged/u],
    ["exec(make)", [rule("allow", "exec(make *)")], {}, "allow", /^$/u],
    ["exec(make)", [rule("allow", "exec(make *)")], { headless: true }, "allow", /^$/u],
    ["exec(make)", [], { headless: true }, "deny", /no one is there to ask/u],
    ["exec(make)", [rule("allow", "exec(make *)"), rule("ask", "exec(m* *)")], {}, "ask", /ask exec\(m\* \*\)/u],
    [
      "exec(make)",
      [rule("allow", "exec(make *)"), rule("deny", "exec", { because: "no tools" })],
      {},
      "deny",
      /no tools/u,
    ],
    ["exec(make)", [rule("allow", "exec(make *)")], { people: [owner(), guest()] }, "deny", /need a grant/u],
    ["exec(make)", [], { people: [guest({ allow: "exec(make *)" })] }, "allow", /^$/u],
    ["exec(rm x)", [], { people: [guest({ allow: "exec(make *)" })] }, "deny", /need a grant/u],
    ["exec(make)", [], { people: [owner({ allow: "exec(make *)" })] }, "allow", /^$/u],
    ["exec(make)", [rule("deny", "exec(make)")], { people: [owner({ allow: "exec(make *)" })] }, "deny", /deny exec/u],
    ["write(src/a.ts)", [], {}, "allow", /^$/u],
    ["write(src/a.ts)", [rule("ask", "write(src/**)")], {}, "ask", /write\(src/u],
    ["web(example.org)", [], {}, "allow", /^$/u],
    ["web(example.org)", [rule("deny", "web"), rule("allow", "web(domain:example.org)")], {}, "deny", /deny web/u],
    ["mcp__files__read", [], {}, "ask", /no rule allows mcp__files__read/u],
    ["mcp__files__read", [rule("allow", "mcp__files")], {}, "allow", /^$/u],
    ["mcp__files__read", [rule("allow", "mcp__files__*")], { headless: true }, "allow", /^$/u],
    ["cron_add", [], {}, "allow", /^$/u],
    ["cron_add", [rule("ask", "cron_*")], {}, "ask", /cron_\*/u],
  ];
  test.each(asUser)("%s with %j in %j: %s", (call, rules, more, verdict, reason) => {
    const decision = judged(call, situation(rules, more));
    expect(decision.verdict).toBe(verdict);
    expect(decision.reason).toMatch(reason);
  });

  test.each<[string, readonly Rule[], Partial<Situation>, Verdict]>([
    ["write(AGENTS.md)", [], {}, "ask"],
    ["write(AGENTS.md)", [], { headless: true }, "deny"],
    ["edit(sub/soul.MD)", [], {}, "ask"],
    ["apply_patch(TOOLS.md)", [], {}, "ask"],
    ["write(USER.md)", [rule("allow", "write")], {}, "ask"],
    ["write(USER.md)", [rule("allow", "write(**)")], {}, "ask"],
    ["write(USER.md)", [rule("allow", "write(USER.md)")], {}, "allow"],
    ["write(USER.md)", [rule("allow", "*"), rule("allow", "write(**)"), rule("allow", "write(USER.md)")], {}, "allow"],
    ["write(USER.md)", [rule("allow", "write(USER.md)"), rule("allow", "*")], {}, "allow"],
    ["write(USER.md)", [rule("allow", "write(USER.md)"), rule("ask", "write(**)")], {}, "ask"],
    ["write(SOUL.md)", [rule("allow", "write(USER.md)"), rule("allow", "write(**)")], {}, "ask"],
    ["write(USER.md)", [rule("allow", "write(**)")], granting("write", USER_MD), "allow"],
    ["write(USER.md)", [], granting("write", USER_MD), "allow"],
    ["write(SOUL.md)", [], granting("write", USER_MD), "ask"],
    ["write(USER.md)", [], granting("write(USER.md)"), "allow"],
    ["write(sub/USER.md)", [], granting("write(USER.md)"), "ask"],
    ["write(/home/you/USER.md)", [], granting("write(~/USER.md)"), "allow"],
    ["write(/home/you/USER.md)", [], granting("write(USER.md)"), "ask"],
    ["write(/other/a)", [], { people: [owner({ deny: "write(a)" })] }, "deny"],
    ["write(a)", [], { people: [owner({ deny: "write(a)" })] }, "deny"],
    ["write(USER.md)", [], granting("write(/home/you/**)"), "ask"],
    ["write(USER.md)", [rule("deny", "write(**)")], {}, "deny"],
    ["write(cron/x/TASK.md)", [], {}, "ask"],
    ["exec(ls > HEARTBEAT.md)", [], {}, "ask"],
    ["write(MEMORY.md)", [], {}, "allow"],
    ["write(memory/2026.md)", [], {}, "allow"],
    ["read(AGENTS.md)", [], {}, "allow"],
    ["write(AGENTS.md)", [], { people: [guest()] }, "allow"],
  ])("a change of a prompt file is reviewed: %s with %j in %j: %s", (call, rules, more, verdict) => {
    expect(judged(call, situation(rules, more)).verdict).toBe(verdict);
  });

  test.each<["none" | "ro" | "rw", string, Verdict]>([
    ["rw", "write(a)", "allow"],
    ["ro", "write(a)", "deny"],
    ["ro", "edit(a)", "deny"],
    ["ro", "apply_patch(a)", "deny"],
    ["ro", "exec(ls > a)", "deny"],
    ["ro", "read(a)", "allow"],
    ["none", "read(a)", "deny"],
    ["none", "grep(a)", "deny"],
    ["none", "write(a)", "deny"],
    ["none", "exec(ls < a)", "deny"],
  ])("workspaceAccess %s, %s: %s", (access, call, verdict) => {
    expect(judged(call, situation([rule("allow", "write"), rule("allow", "read")], {}, { access })).verdict).toBe(
      verdict,
    );
  });
});

describe("with untrusted text in context", () => {
  const cases: readonly [string, readonly Rule[], RulesParty["untrusted"], Verdict][] = [
    ["exec(make)", [rule("allow", "exec(make *)")], undefined, "ask"],
    ["exec(make)", [rule("allow", "exec(make *)")], "rules", "allow"],
    ["exec(make)", [rule("allow", "exec")], "rules", "ask"],
    ["exec(make)", [rule("allow", "exec")], "off", "allow"],
    ["exec(make)", [], "off", "ask"],
    ["exec(make)", [rule("allow", "exec(make *)", { when: "untrusted" })], undefined, "allow"],
    ["exec(ls)", [], undefined, "allow"],
    ["web(example.org)", [], undefined, "ask"],
    ["web(example.org)", [rule("allow", "web(domain:example.org)")], undefined, "ask"],
    ["web(example.org)", [rule("allow", "web(domain:example.org)", { when: "untrusted" })], undefined, "allow"],
    ["web(evil.net)", [rule("allow", "web(domain:example.org)", { when: "untrusted" })], undefined, "ask"],
    ["web_search(example.org)", [], undefined, "allow"],
    ["mcp__files__read", [rule("allow", "mcp__files")], undefined, "ask"],
    ["write(a.txt)", [], undefined, "allow"],
    ["write(MEMORY.md)", [], undefined, "ask"],
    ["write(helper/memory.md)", [], undefined, "ask"],
    ["write(memory/2026-11-03.md)", [rule("allow", "write")], undefined, "ask"],
    ["edit(skills/tea/SKILL.md)", [], undefined, "ask"],
    ["write(.agents/skills/tea/run.sh)", [], undefined, "ask"],
    ["write(memory/a.md)", [rule("allow", "write(memory/**)", { when: "untrusted" })], undefined, "allow"],
    ["write(memory/a.md)", [], "off", "allow"],
    ["read(memory/a.md)", [], undefined, "allow"],
    ["write(a.txt)", [rule("ask", "write", { when: "untrusted" })], undefined, "ask"],
    ["exec(make)", [rule("allow", "exec(make *)"), rule("deny", "exec", { when: "untrusted" })], "off", "deny"],
  ];
  test.each(cases)("%s with %j, relaxed %s: %s", (call, rules, relaxed, verdict) => {
    const where = situation(rules, { untrusted: true }, { untrusted: relaxed });
    expect(judged(call, where).verdict).toBe(verdict);
    const headless = judged(call, { ...where, headless: true }).verdict;
    expect(headless).toBe(verdict === "ask" ? "deny" : verdict);
  });

  it.each([
    ["env", "git", "push"],
    ["sh", "-c", "git push"],
    ["/usr/bin/sudo", "ls"],
  ])("a list of words hides nothing: %s", (...argv) => {
    const effect: Effect = { action: "exec", rights: ["exec"], detail: { kind: "command", argv, cwd: "/" } };
    const { verdict, reason } = decide(effect, situation([rule("allow", "exec(*)"), rule("deny", "exec(git push)")]));
    expect(verdict).toBe("ask");
    expect(reason).toContain("cannot be judged");
  });

  it("a file that a command writes is judged as a file", () => {
    const detail = { kind: "path", access: "write", path: "/home/you/work/secret/x" } as const;
    const effect: Effect = { action: "exec", rights: ["exec"], detail };
    for (const text of ["write(secret/**)", "write", "exec"]) {
      expect(decide(effect, situation([rule("deny", text)])).verdict).toBe("deny");
    }
  });

  it("elevated full does not lift the question", () => {
    const exec = { host: "gateway", security: "full", ask: "off", elevated: "full" } as const;
    expect(judged("exec(make)", situation([], {}, { exec })).verdict).toBe("allow");
    expect(judged("exec(make)", situation([], { untrusted: true }, { exec })).verdict).toBe("ask");
  });
});

describe("safe commands", () => {
  test.each([
    "sort -o out in",
    "sort --outp=x in",
    "sort -no out",
    "find . -delete",
    "find . -fprint x",
    "rg --pre sh x",
    "git push",
    "git status",
    "tree -o x",
    "date -s now",
    "./ls",
    "/tmp/ls",
    "tee x",
    "uniq a b",
    "sed -i x y",
    "awk x",
    "env",
    "python x",
    "constructor",
  ])("%s is not one", (line) => expect(isSafeCommand(line.split(" "))).toBe(false));
  test.each(["ls -la", "cat a b", "grep -rn x src", "sort -rn a", "find . -name x", "rg x", "wc -l a"])(
    "%s is one",
    (line) => expect(isSafeCommand(line.split(" "))).toBe(true),
  );
});

describe("properties", () => {
  const text = fc.constantFrom(
    ...["exec", "exec(*)", "exec(git *)", "exec(git push *)", "exec(git push)", "exec(ls *)", "write", "write(src/**)"],
    ...["write(**/.env)", "read", "read(**)", "web", "web(domain:a.org)", "mcp__x", "mcp__x__y", "*", "cron_*", "*(*)"],
  );
  const verdict = fc.constantFrom(...VERDICTS);
  const when = fc.option(fc.constant("untrusted" as const), { nil: undefined });
  const anyRule = fc.record({ verdict, text, when }).map((one) => rule(one.verdict, one.text, { when: one.when }));
  const anyGrant = fc
    .record({ verdict, text, when })
    .map((one) => ({ [one.verdict]: one.text, when: one.when }) as unknown as Grant);
  const call = fc.constantFrom(
    ...["exec(git push)", "exec(git -C x push)", "exec(ls)", "exec(make)", "exec($x)", "exec(a && git push > src/x)"],
    ...["write(src/a)", "write(.env)", "read(a)", "web(a.org)", "web(b.org)", "mcp__x__y", "cron_add"],
  );
  const exec = fc.record({
    host: fc.constantFrom("sandbox", "gateway"),
    security: fc.constantFrom("deny", "allowlist", "full"),
    ask: fc.constantFrom("off", "on-miss", "always"),
    elevated: fc.constantFrom("off", "on", "ask", "full"),
  });
  const person = fc
    .record({ guest: fc.boolean(), grants: fc.array(anyGrant, { maxLength: 3 }) })
    .map(({ guest: isGuest, grants }) => (isGuest ? guest(...grants) : owner(...grants)));
  const where = fc
    .record({
      rules: fc.array(anyRule, { maxLength: 5 }),
      people: fc.array(person, { minLength: 1, maxLength: 3 }),
      headless: fc.boolean(),
      untrusted: fc.boolean(),
      exec,
      relaxed: fc.constantFrom("ask", "rules", "off"),
    })
    .map(({ rules, people, headless, untrusted, relaxed, ...rest }) => ({
      rules,
      make: (list: readonly Rule[]): Situation =>
        situation(
          list,
          { people, headless, untrusted },
          {
            ...(rest as Pick<RulesParty, "exec">),
            untrusted: relaxed as RulesParty["untrusted"],
          },
        ),
    }));
  const isNotMilder = (before: Verdict, after: Verdict) => expect(strictest(before, after)).toBe(after);

  it("a denial that is added never widens, whatever else there is", () => {
    fc.assert(
      fc.property(call, where, text, when, (what, { rules, make }, denied, only) => {
        const added = [...rules, rule("deny", denied, { when: only })];
        isNotMilder(judged(what, make(rules)).verdict, judged(what, make(added)).verdict);
      }),
      { numRuns: tries(500) },
    );
  });

  it("a question that is added never widens", () => {
    fc.assert(
      fc.property(call, where, text, when, (what, { rules, make }, asked, only) => {
        const added = [...rules, rule("ask", asked, { when: only })];
        isNotMilder(judged(what, make(rules)).verdict, judged(what, make(added)).verdict);
      }),
      { numRuns: tries(500) },
    );
  });

  it("a person or a party of rules that is added never widens", () => {
    fc.assert(
      fc.property(call, where, person, fc.array(anyRule, { maxLength: 4 }), (what, { rules, make }, more, others) => {
        const before = make(rules);
        const { verdict: now } = judged(what, before);
        isNotMilder(now, judged(what, { ...before, people: [...before.people, more] }).verdict);
        const parties = [...(before.rules ?? []), { rules: ruleSet(others), place: PLACE }];
        isNotMilder(now, judged(what, { ...before, rules: parties }).verdict);
      }),
      { numRuns: tries(500) },
    );
  });

  it("rules never allow what a person's rights do not, and untrusted text never widens", () => {
    fc.assert(
      fc.property(call, where, (what, { rules, make }) => {
        const all = make(rules);
        // A profile may relax what untrusted text changes, never what a person's rights say.
        const byRights = { ...all, rules: undefined, untrusted: false };
        isNotMilder(judged(what, byRights).verdict, judged(what, all).verdict);
        isNotMilder(
          judged(what, { ...all, untrusted: false }).verdict,
          judged(what, { ...all, untrusted: true }).verdict,
        );
        const { verdict: found, reason } = judged(what, all);
        expect(reason === "").toBe(found === "allow");
      }),
      { numRuns: tries(500) },
    );
  });

  it("the index finds what a plain search finds, in any order", () => {
    fc.assert(
      fc.property(call, fc.array(anyRule, { maxLength: 12 }), fc.boolean(), (what, rules, untrusted) => {
        for (const effect of effectsOf(what)) {
          const found = ruleSet(rules).find(effect, PLACE, untrusted)?.verdict;
          const plain = rules
            .filter(({ when: only, verdict: said }) => only === undefined || said === "allow" || untrusted)
            .map((one) => ruleSet([one]).find(effect, PLACE, true)?.verdict)
            .filter((one) => one !== undefined)
            .reduce<Verdict | undefined>((a, b) => (a === undefined ? b : strictest(a, b)), undefined);
          expect(found).toBe(plain);
          expect(ruleSet(rules.toReversed()).find(effect, PLACE, untrusted)?.verdict).toBe(plain);
        }
      }),
      { numRuns: tries(300) },
    );
  });
});
