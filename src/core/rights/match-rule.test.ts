/** What a rule is about: an allowance to the letter, a question or a denial however the same thing is written. */
import { describe, expect, test } from "vitest";
import type { Verdict } from "../people/grant.ts";
import type { Effect } from "./decide.ts";
import { actionsOf, coversEffect, type Place } from "./match-rule.ts";
import { parseRule } from "./rule.ts";
import { MAX_TEXT } from "./wildcard.ts";

const PLACE: Place = { workspace: "/W/s", home: "/h" };
const covers = (verdict: Verdict, text: string, effect: Omit<Effect, "rights">, place: Place = PLACE): boolean => {
  const parsed = parseRule(text);
  if ("wrong" in parsed) throw new TypeError(`${text}: ${parsed.wrong}`);
  return coversEffect(parsed.subject, verdict, { rights: [], ...effect } as Effect, place);
};
/** As an allowance, a question and a denial. */
const asEach = (text: string, effect: Omit<Effect, "rights">, place?: Place): string =>
  (["allow", "ask", "deny"] as const).filter((verdict) => covers(verdict, text, effect, place)).join(" ");
const command = (line: string): Omit<Effect, "rights"> => ({
  ...{ action: "exec", detail: { kind: "command", argv: line === "" ? [] : line.split(" "), cwd: "/" } },
});
const file = (action: string, access: "read" | "write", path: string): Omit<Effect, "rights"> => ({
  ...{ action, detail: { kind: "path", access, path } },
});
const host = (name: string, port?: number): Omit<Effect, "rights"> => ({
  ...{ action: "web_fetch", detail: { kind: "host", host: name, port } },
});

const ALL = "allow ask deny";
const WIDE = "ask deny";

describe("a command", () => {
  test.each([
    ["exec", "make all", ALL],
    ["exec(*)", "make all", ALL],
    ["exec(make)", "make", ALL],
    ["exec(make)", "make all", WIDE],
    ["exec(make *)", "make", ALL],
    ["exec(make all *)", "make", ""],
    ["exec(make all *)", "make all now", ALL],
    ["exec(make all)", "make", ""],
    ["exec(git push *)", "git -C . push", WIDE],
    ["exec(git push *)", "git -c a=b push", WIDE],
    ["exec(git push *)", "git --dir=x push", WIDE],
    ["exec(git push *)", "git --dir=x log push", ""],
    ["exec(git push *)", "git -C . log push", ""],
    ["exec(git push *)", "git -p -q push", WIDE],
    ["exec(git push *)", "git -p", ""],
    ["exec(git push *)", "git -p -C . push", WIDE],
    ["exec(git a|)", "git -p", ""],
    ["ex*(git)", "git", ""],
    ["exec(git push *)", "git . push", ""],
    ["exec(git push force)", "git push -f force", WIDE],
    ["exec(git push -f)", "git push -f", ALL],
    ["exec(git push -f)", "git push -q -f", WIDE],
    ["exec(git a|b *)", "git b", ALL],
    ["exec(git a|b *)", "git c", ""],
    ["exec(GIT push)", "git push", WIDE],
    ["exec(git push)", "GIT PUSH", WIDE],
    ["exec(git *)", "/usr/bin/git x", WIDE],
    ["exec(/usr/bin/git *)", "/usr/bin/git x", ALL],
    ["exec(/usr/bin/git *)", "git x", ""],
    ["exec(/usr/bin/git *)", "/bin/git x", ""],
    ["exec(git *)", "", ""],
    ["exec(*)", "", ALL],
    ["exec(g* *)", "git x", ALL],
    ["exec(g* *)", "/x/git x", WIDE],
    ["exec(g* *)", "hg x", ""],
    ["exec(git p*)", `git p${"x".repeat(MAX_TEXT)}`, WIDE],
    ["exec(git p*)", `git q${"x".repeat(MAX_TEXT)}`, WIDE],
    ["exec(git p*)", `git q${"x".repeat(MAX_TEXT - 1)}`, ""],
    ["exec(git a|b*)", `git q${"x".repeat(MAX_TEXT)}`, WIDE],
    ["exec(git pq)", `git q${"x".repeat(MAX_TEXT)}`, ""],
    ["write(a)", "make all", ""],
    ["read(a)", "make all", ""],
  ])("with the rule %s: %s is covered as %s", (text, line, verdicts) => {
    expect(asEach(text, command(line))).toBe(verdicts);
  });
});

test.each([
  ["exec", ALL],
  ["exec(*)", ALL],
  ["exec(git *)", ""],
  ["exec(git)", ""],
])("a line that cannot be read, with the rule %s: %s", (text, verdicts) => {
  const detail = { kind: "unparsed", line: "git $x", cwd: "/", why: "w" } as const;
  expect(asEach(text, { action: "exec", detail })).toBe(verdicts);
});

describe("a file", () => {
  test.each([
    ["write(a)", "/W/s/a", ALL],
    ["write(a)", "/w/S/A", WIDE],
    ["write(a)", "/W/s/a/b", WIDE],
    ["write(a)", "/W/a", ""],
    ["write(a)", "/W", ""],
    ["write(a)", "/W/s", ""],
    ["write(A)", "/W/s/A", ALL],
    ["write(A)", "/W/s/a", WIDE],
    ["write(**)", "/W/s", ALL],
    ["write(**)", "/W/x", WIDE],
    ["write(a/**)", "/W/s/a/b/c", ALL],
    ["write(~/a)", "/h/a", ALL],
    ["write(~/a)", "/W/s/a", ""],
    ["write(/h/a)", "/h/a", ALL],
    ["write(/a)", "/h/a", ""],
    ["write(**/a)", "/W/s/b/a", ALL],
    ["write(**/a)", "/else/where/a", WIDE],
    ["write(**/a)", "/else/A", WIDE],
    ["write(b/**/a)", "/else/b/a", ""],
    ["read(a)", "/W/s/a", ""],
    ["write", "/any/where", ALL],
    ["exec(a)", "/W/s/a", ""],
  ])("with the rule %s: a write of %s is covered as %s", (text, path, verdicts) => {
    expect(asEach(text, file("write", "write", path))).toBe(verdicts);
    // A redirect of a command writes too.
    expect(asEach(text, file("exec", "write", path))).toBe(verdicts);
  });

  test.each<[string, Place, string, string]>([
    ["write(a)", {}, "/x/a", WIDE],
    ["write(a)", {}, "/x/b", ""],
    ["write(~/a)", { workspace: "/w" }, "/x/a", WIDE],
    ["write(a)", { home: "/h" }, "/x/a", WIDE],
    ["write(/x/a)", {}, "/x/a", ALL],
    ["write(/x/a)", {}, "/y/x/a", ""],
  ])("with the rule %s where the directories are %j: %s is covered as %s", (text, place, path, verdicts) => {
    expect(asEach(text, file("write", "write", path), place)).toBe(verdicts);
  });

  test("is read or written, whatever the tool is called", () => {
    expect(actionsOf(file("exec", "read", "/a"))).toEqual(["exec", "read"]);
    expect(actionsOf(file("write", "write", "/a"))).toEqual(["write"]);
    expect(actionsOf(command("ls"))).toEqual(["exec"]);
    expect(actionsOf({ action: "x" })).toEqual(["x"]);
  });
});

test.each<[string, string, number | undefined, string]>([
  ["web(domain:a.org)", "a.org", undefined, ALL],
  ["web(domain:a.org)", "b.a.org", 443, ALL],
  ["web(domain:a.org)", "A.ORG.", undefined, ALL],
  ["web(domain:a.org)", "ba.org", undefined, ""],
  ["web(domain:a.org)", "org", undefined, ""],
  ["web(domain:a.org:8443)", "a.org", 8443, ALL],
  ["web(domain:a.org:8443)", "a.org", 443, ""],
  ["web(domain:a.org:8443)", "a.org", undefined, ""],
  ["web(domain:*)", "a.org", undefined, ALL],
  ["web", "a.org", 80, ALL],
  ["exec(a)", "a", undefined, ""],
  ["web_*(a.org)", "a.org", undefined, ""],
])("with the rule %s: %s, port %s, is covered as %s", (text, name, port, verdicts) => {
  expect(asEach(text, host(name, port))).toBe(verdicts);
});

test.each<[string, string, string | undefined, string]>([
  ["send", "send", undefined, ALL],
  ["send", "send", "t:1", "deny"],
  ["send(t:1)", "send", "t:1", ALL],
  ["send(t:*)", "send", "t:1", ALL],
  ["send(t:1)", "send", "t:12", ""],
  ["send(t:1)", "send", undefined, ""],
  ["se*", "send", undefined, ALL],
  ["se*(t:1)", "send", "t:1", ALL],
  ["send", "sends", undefined, ""],
])("with the rule %s: %s to %s is covered as %s", (text, action, target, verdicts) => {
  expect(asEach(text, { action, target })).toBe(verdicts);
});

test("what belongs to another person is allowed by its name only, and denied by what it touches too", () => {
  expect(asEach("write(a)", { ...file("write", "write", "/W/s/a"), target: "t:1" })).toBe(WIDE);
  expect(asEach("write(t:1)", { ...file("write", "write", "/W/s/a"), target: "t:1" })).toBe(ALL);
});
