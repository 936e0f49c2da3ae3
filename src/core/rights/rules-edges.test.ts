/** Rules at their edges: what mutants of the gate's parts showed untested. */
import { describe, expect, test } from "vitest";
import { OWNER, type PersonId } from "../people/person.ts";
import { effectsOfCall } from "./call-text.ts";
import { decide, type Effect } from "./decide.ts";
import { execPolicyFor } from "./exec-settings.ts";
import { coversEffect } from "./match-rule.ts";
import { parseRule, type Rule } from "./rule.ts";
import { wrongInRule } from "./rule-examples.ts";
import { NO_RULES, ruleSet, unionOf } from "./rule-set.ts";
import { decideByRules, type RulesParty } from "./rules-party.ts";
import { isSafeCommand } from "./safe-commands.ts";
import { splitShellLine } from "./shell-line.ts";
import { allowsUntrusted } from "./untrusted-rules.ts";
import { MAX_TEXT, matchesWildcard } from "./wildcard.ts";

const rule = (verdict: Rule["verdict"], text: string, more: Partial<Rule> = {}): Rule => ({
  verdict,
  text,
  source: "s",
  ...more,
});
const effect = (action: string, more: Partial<Effect> = {}): Effect => ({ action, rights: [], ...more });
const path = (access: "read" | "write", text: string): Effect["detail"] => ({ kind: "path", access, path: text });
const command = (...argv: string[]): Effect => effect("exec", { detail: { kind: "command", argv, cwd: "/" } });
const covers = (
  verdict: Rule["verdict"],
  text: string,
  what: Effect,
  place = { workspace: "/w", home: "/h" },
): boolean => {
  const parsed = parseRule(text);
  if ("wrong" in parsed) throw new TypeError(parsed.wrong);
  return coversEffect(parsed.subject, verdict, what, place);
};

test("a pattern with a sign that stands for itself is the text itself, however long", () => {
  const long = `${"a".repeat(MAX_TEXT)}?`;
  expect(matchesWildcard(long, long)).toBe(true);
  expect(matchesWildcard(long, `${"a".repeat(MAX_TEXT)}b`)).toBe(false);
});

describe("a rule about a path", () => {
  test.each<[Rule["verdict"], string, string, boolean]>([
    ["deny", "write(secrets)", "/w/secrets", true],
    ["deny", "write(secrets)", "/w/secrets/a/b", true],
    ["deny", "write(secrets)", "/w/other", false],
    ["deny", "write(secrets)", "/x/secrets", false],
    ["deny", "write(/etc/x)", "/ETC/X/y", true],
    ["deny", "write(~/a)", "/h/a", true],
    ["deny", "write(~/a)", "/w/a", false],
    ["allow", "write(secrets)", "/w/secrets", true],
    ["allow", "write(secrets)", "/w/secrets/a", false],
    ["allow", "write(~/a)", "/h/a", true],
    ["allow", "write(/etc/x)", "/etc/X", false],
  ])("%s %s, %s: %s", (verdict, text, target, is) => {
    expect(covers(verdict, text, effect("write", { detail: path("write", target) }))).toBe(is);
  });
  test("without a place is not allowed, and denied anywhere", () => {
    const what = effect("write", { detail: path("write", "/q/secrets") });
    expect(covers("allow", "write(secrets)", what, {} as never)).toBe(false);
    expect(covers("deny", "write(secrets)", what, {} as never)).toBe(true);
  });
});

describe("a set of rules", () => {
  test("knows whether it asks about or denies certain commands", () => {
    const limits = (...rules: Rule[]) => ruleSet(rules).limitsCommands;
    expect(limits(rule("deny", "exec(rm *)"))).toBe(true);
    expect(limits(rule("ask", "exec(rm *)"))).toBe(true);
    expect(limits(rule("allow", "exec(rm *)"))).toBe(false);
    expect(limits(rule("deny", "exec"), rule("deny", "write(a)"))).toBe(false);
    expect(limits(rule("deny", "exec(rm *)"), rule("deny", "write(a)"))).toBe(true);
    expect(unionOf([ruleSet([rule("deny", "write")]), ruleSet([rule("deny", "exec(rm *)")])]).limitsCommands).toBe(
      true,
    );
  });
  test("asks about every target of an action, and allows only what it names", () => {
    const what = effect("send", { target: "t:1" });
    const found = (...rules: Rule[]) => ruleSet(rules).find(what)?.verdict;
    expect(found(rule("ask", "send"))).toBe("ask");
    expect(found(rule("deny", "send"))).toBe("deny");
    expect(found(rule("allow", "send"))).toBeUndefined();
    expect(found(rule("allow", "send(t:1)"))).toBe("allow");
    expect(found(rule("ask", "send(t:2)"))).toBeUndefined();
    expect(found(rule("allow", "send(t:1)"), rule("ask", "send"), rule("ask", "se*"))).toBe("ask");
  });
  test("finds rules by the beginning of an action, by its name and by its program", () => {
    const set = ruleSet([
      rule("deny", "cron_*"),
      rule("ask", "mcp__git"),
      rule("deny", "exec(rm|mv *)"),
      rule("ask", "exec(*)"),
    ]);
    expect(set.find(effect("cron_add"))?.verdict).toBe("deny");
    expect(set.find(effect("mcp__git__push"))?.verdict).toBe("ask");
    expect(set.find(effect("mcp__gitea__push"))).toBeUndefined();
    expect(set.find(command("/bin/MV", "a"))?.verdict).toBe("deny");
    expect(set.find(command("ls"))?.verdict).toBe("ask");
  });
  test("counts a rule for untrusted text with such text only, and an allowance in any case", () => {
    const when = { when: "untrusted" } as const;
    const set = ruleSet([rule("deny", "a", when), rule("allow", "b", when), rule("allow", "c(d)")]);
    expect(set.find(effect("a"))).toBeUndefined();
    expect(set.find(effect("a"), undefined, true)?.verdict).toBe("deny");
    expect(set.find(effect("b"))?.verdict).toBe("allow");
    const toTarget = effect("c", { target: "d" });
    expect(allowsUntrusted(effect("b"), { rules: set })).toBe(true);
    expect(allowsUntrusted(toTarget, { rules: set })).toBe(false);
    expect(allowsUntrusted(toTarget, { rules: set, untrusted: "rules" })).toBe(true);
    expect(allowsUntrusted(toTarget, { rules: NO_RULES, untrusted: "off" })).toBe(true);
  });
  test("reads a rule that is wrong as its whole action, or not at all", () => {
    expect(ruleSet([rule("deny", "exec(a; b)")]).find(command("ls"))?.verdict).toBe("deny");
    expect(ruleSet([rule("allow", "exec(a; b)")]).find(command("a"))).toBeUndefined();
    expect(ruleSet([rule("deny", "what is this")]).find(effect("anything"))?.verdict).toBe("deny");
  });
});

/** `exec()` is six characters, and the rest is the command. */
test.each([
  [1, `exec(x)`],
  [114, `exec(${"x".repeat(114)})`],
  [115, `exec(${"x".repeat(115)}…`],
  [116, `exec(${"x".repeat(115)}…`],
  [5_000, `exec(${"x".repeat(115)}…`],
])("a command of %i characters that no rule allows is shown up to the 120th", (length, shown) => {
  const party = { rules: ruleSet([]) };
  const decision = decideByRules(command("x".repeat(length)), party, { limits: false, reviews: false }, false);
  expect(decision).toEqual({ verdict: "ask", reason: `no rule allows ${shown}` });
});

describe("limits an agent by its workspace access", () => {
  const verdict = (access: RulesParty["access"], what: Effect) =>
    decideByRules(what, { rules: ruleSet([]), access }, { limits: false, reviews: false }, false).verdict;
  test.each<[RulesParty["access"], Effect, string]>([
    ["ro", effect("write"), "deny"],
    ["ro", effect("exec", { detail: path("write", "/a") }), "deny"],
    ["ro", effect("exec", { detail: path("read", "/a") }), "allow"],
    ["ro", effect("grep"), "allow"],
    ["none", effect("grep"), "deny"],
    ["none", effect("exec", { detail: path("read", "/a") }), "deny"],
    ["none", effect("cron_add"), "allow"],
    ["rw", effect("write"), "allow"],
  ])("%s, %j: %s", (access, what, expected) => {
    expect(verdict(access, what)).toBe(expected);
  });
});

describe("where commands run", () => {
  test("a child of a sandboxed agent is sandboxed, by its state or by what is known now", () => {
    const state = { execHost: "gateway", elevatedLevel: "full" } as never;
    expect(execPolicyFor({ state }, OWNER)).toMatchObject({ host: "gateway", security: "full" });
    expect(execPolicyFor({ state }, OWNER, { isShut: true })).toMatchObject({ host: "sandbox", elevated: "off" });
    const inherited = {
      ...(state as object),
      inheritedExec: { host: "sandbox", security: "allowlist", ask: "off", elevated: "off" },
    } as never;
    expect(execPolicyFor({ state: inherited }, OWNER)).toMatchObject({ host: "sandbox", bound: { ask: "off" } });
  });
  test("the profile decides what the agent does not say, for the owner and narrower for others", () => {
    expect(execPolicyFor({ state: {} }, OWNER, { ask: "always", security: "full", host: "gateway" })).toMatchObject({
      ask: "always",
      security: "full",
      host: "gateway",
    });
    expect(execPolicyFor({ state: { execAsk: "off" } }, OWNER, { ask: "always" })).toMatchObject({ ask: "off" });
    const others = execPolicyFor({ state: { execAsk: "off" } }, "ann" as PersonId, {
      ask: "always",
      security: "full",
      host: "gateway",
    });
    expect(others).toMatchObject({ ask: "always", security: "allowlist", host: "sandbox" });
    expect(execPolicyFor({ state: {} }, [OWNER, "ann" as PersonId], { security: "deny" })).toMatchObject({
      security: "deny",
    });
    expect(execPolicyFor({ state: {} }, [], { host: "gateway" })).toMatchObject({ host: "sandbox" });
  });
});

test.each<[string, string[], string[], RegExp | undefined]>([
  ["exec(git push *)", ["git push origin", "exec(git push)"], ["git pull"], undefined],
  ["exec(git push *)", ["git status && git push"], [], undefined],
  ["exec(git push *)", [], ["git status && git push"], /is matched by/],
  ["cron_add", ["cron_add"], ["cron_remove"], undefined],
  ["cron_add", ["cron_remove"], [], /is not matched by/],
  ["web(domain:a.b)", ["x.a.b"], ["http://"], /neither a host/],
  ["send(t:1)", ["t:1", "send(t:1)"], ["t:2"], undefined],
  ["exec(", [], [], /expected ACTION/],
])("the rule %s with its examples %j and %j", (text, match, notMatch, wrong) => {
  const found = wrongInRule("deny", text, { match, notMatch });
  if (wrong) expect(found).toMatch(wrong);
  else expect(found).toBeUndefined();
});

test.each<[string, object]>([
  ["ls\n\npwd\n", { parts: [["ls"], ["pwd"]], redirects: [] }],
  ["> out\nls", { parts: [["ls"]], redirects: [{ access: "write", path: "out" }] }],
  ["ls &&\n pwd", { parts: [["ls"], ["pwd"]], redirects: [] }],
  ["cat 0< in", { parts: [["cat"]], redirects: [{ access: "read", path: "in" }] }],
  ["echo 12> x", { unparsed: "shells read a long number before a redirect in two ways" }],
  ["echo 12< x", { unparsed: "shells read a long number before a redirect in two ways" }],
  ["echo '1'> x", { parts: [["echo", "1"]], redirects: [{ access: "write", path: "x" }] }],
  ["ls ;; pwd", { unparsed: "it has the operator ;;" }],
  ["ls && ; pwd", { unparsed: "there is no command next to ;" }],
  ["ls &&", { unparsed: "there is no command next to &&" }],
  ["| ls", { unparsed: "there is no command next to |" }],
  ["ls &", { parts: [["ls"]], redirects: [] }],
  ["> out", { unparsed: "it has no command" }],
  ["ls\u00a0x", { unparsed: "it has signs that cannot be seen" }],
  ["ls\tx", { parts: [["ls", "x"]], redirects: [] }],
  ["~/x", { unparsed: "the name of a command is not plain" }],
  ["./x* y", { unparsed: "the name of a command is not plain" }],
  ["''", { unparsed: "the name of a command is not plain" }],
  ["=x", { unparsed: "the name of a command is not plain" }],
  ["x=1 ls", { unparsed: "it changes the environment of a command" }],
  ["ls x=1", { parts: [["ls", "x=1"]], redirects: [] }],
  ["while ls", { unparsed: "it uses while, which is part of the shell's language" }],
  ["ls while", { parts: [["ls", "while"]], redirects: [] }],
  ["/usr/bin/ENV ls", { unparsed: "env runs or changes other commands" }],
  ["bash", { unparsed: "bash runs other commands" }],
  ["bash -c ls", { unparsed: "bash runs other commands" }],
  ["bash +x ls", { unparsed: "bash runs other commands" }],
  ["bash /dev/stdin", { unparsed: "bash runs other commands" }],
  ["bash /proc/self/fd/0", { unparsed: "bash runs other commands" }],
  ["bash /x.sh", { parts: [["bash", "/x.sh"]], redirects: [] }],
  ["bash x.sh -c", { parts: [["bash", "x.sh", "-c"]], redirects: [] }],
  ["find . -okdir ls", { unparsed: "find runs other commands" }],
  ["grep -exec ls", { parts: [["grep", "-exec", "ls"]], redirects: [] }],
  ["printf -vx y", { unparsed: "printf -v changes a variable" }],
  ["printf y -v", { parts: [["printf", "y", "-v"]], redirects: [] }],
  ["ls > ''", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls > ~/x", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls > ./x*", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls >", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls >& 12", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls <& 3", { parts: [["ls"]], redirects: [] }],
  ["ls > /dev/udp/x", { unparsed: "the target of a redirect is not a plain path" }],
  ["ls < /dev/null > /dev/stdout", { parts: [["ls"]], redirects: [] }],
  ["ls > /dev/null/x", { parts: [["ls"]], redirects: [{ access: "write", path: "/dev/null/x" }] }],
  ["cd x && ls > /y", { parts: [["cd", "x"], ["ls"]], redirects: [{ access: "write", path: "/y" }] }],
  ["cd x && /y/z", { parts: [["cd", "x"], ["/y/z"]], redirects: [] }],
  ["cd x && ls > y", { unparsed: "it changes the directory and then uses a relative path" }],
  ["popd; ./z", { unparsed: "it changes the directory and then uses a relative path" }],
  ["ls && ./z > y", { parts: [["ls"], ["./z"]], redirects: [{ access: "write", path: "y" }] }],
])("the line %j", (line, parts) => {
  expect(splitShellLine(line)).toEqual(parts);
});

test.each<[string[], boolean]>([
  [["printf", "-v", "x"], false],
  [["printf", "x", "-v"], true],
  [["printf", "x"], true],
  [["printf"], true],
  [["grep", "-v", "x"], true],
  [["git", "log"], false],
  [["git", "push"], false],
  [["git"], false],
  [["sort", "-no", "x"], false],
  [["sort", "--out=x"], false],
  [["sort", "--o"], false],
  [["sort", "-", "x"], true],
  [["find", ".", "-execdir", "x"], false],
  [["rm"], false],
  [[], false],
])("%j only reads: %s", (argv, safe) => {
  expect(isSafeCommand(argv)).toBe(safe);
});

test("a line has 32,000 characters and a hundred commands at most", () => {
  expect(splitShellLine("a".repeat(32_000))).toHaveProperty("parts");
  expect(splitShellLine("a".repeat(32_001))).toEqual({ unparsed: "it is too long" });
  expect(splitShellLine("a;".repeat(100))).toMatchObject({ parts: { length: 100 } });
  expect(splitShellLine("a;".repeat(101))).toEqual({ unparsed: "it has too many commands" });
});

/** Programs with their arguments, each list for one program. */
const MORE_THAN_READING = {
  date: "-s --set=x -us --se=x",
  diff: "-l -ul --paginate --pag",
  file: "-C --compile --comp -z -p -m -S",
  find: "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls -files0-from -unknown",
  rg: "--pre --pre=x --hostname-bin=x --search-zip -z -iz",
  sort: "-o -no --output=x --out -T --temporary-directory --temp=x --compress-program --compress=x --files0-from=x",
  "sort -k -- -o": "x",
  tree: "-o -ao -Po -R --output",
  "[": "-v -R",
  test: "-v -R",
  git: "status diff log show blame rev-parse ls-files describe grep branch -p",
  awk: "x",
  sed: "x",
  xargs: "x",
  env: "x",
  less: "x",
  man: "x",
  node: "x",
  npm: "ls",
  tar: "-tf",
  tee: "x",
  uniq: "x",
  rm: "x",
  "/bin/ls": "x",
  LS: "x",
};
const ONLY_READING = {
  date: "-u x-s -d -Iseconds +%F --date=x",
  diff: "-u -ur -U3 --brief --color=never",
  file: "x -b --mime",
  find: "-name -type -mtime -7 -size -10k -newer ( ! delete",
  rg: "x -i -in -A3 -epattern --files --glob=x",
  sort: "x -- - -rn -k2,3n -t: --key=1",
  tree: "-a o -L -I",
  ls: "-o -la",
  printf: "x %s",
  "[": "x -f -eq -1 ]",
  whoami: "x",
};

test.each([
  ...Object.entries(MORE_THAN_READING).map(([program, args]) => [program, args, false] as const),
  ...Object.entries(ONLY_READING).map(([program, args]) => [program, args, true] as const),
])("%s with each of %s only reads: %s", (program, args, safe) => {
  const wrong = args.split(" ").filter((arg) => isSafeCommand([...program.split(" "), arg]) !== safe);
  expect(wrong).toEqual([]);
});

test("a call with several effects is denied by one of them", () => {
  const called = effectsOfCall("exec(ls > /etc/x)", { workspace: "/w" });
  if (!("effects" in called)) throw new TypeError("no effects");
  const party = { rules: ruleSet([rule("deny", "write(/etc/**)"), rule("allow", "exec(ls)")]) };
  const verdicts = called.effects.map(
    (one) =>
      decide(one, { people: [{ person: OWNER, role: "owner", grants: [] }], kind: "user", rules: [party] }).verdict,
  );
  expect(verdicts).toEqual(["allow", "deny"]);
});

test.each([
  ["> out\nls", true],
  ["> out\n&& ls", false],
  ["> out && ls", true],
  ["ls &&\nls", true],
  ["\n\nls\n\n", true],
  ["\n&& ls", false],
])("the line %j can be read: %s", (line, ok) => {
  expect("parts" in splitShellLine(line)).toBe(ok);
});
