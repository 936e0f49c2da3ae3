/** What a rule's text is read as: the actions, and what exactly of them it is about. */
import { describe, expect, test } from "vitest";
import { namesOf, type ParsedRule, parseRule, type RuleSubject } from "./rule.ts";

const subjectOf = (text: string): RuleSubject => {
  const read: ParsedRule = parseRule(text);
  if ("wrong" in read) throw new TypeError(read.wrong);
  return read.subject;
};
const isRead = (text: string): boolean => "subject" in parseRule(text);

describe("the action of a rule", () => {
  test.each<[string, readonly string[]]>([
    ["exec", ["exec"]],
    ["cron_add", ["cron_add"]],
    ["read", ["read", "list", "grep", "find"]],
    ["write", ["write", "edit", "apply_patch"]],
    ["web", ["web", "web_fetch", "web_search"]],
    ["web_search", ["web_search"]],
    ["Bash", ["exec"]],
    ["Edit", ["write", "edit", "apply_patch"]],
    ["WebSearch", ["web_search"]],
    ["mcp__files", ["mcp__files", "mcp__files__*"]],
    ["mcp__files__read", ["mcp__files__read"]],
    ["notmcp__files", ["notmcp__files"]],
    ["constructor", ["constructor"]],
  ])("%s covers %j", (text, actions) => {
    expect(parseRule(text)).toEqual({ subject: { actions } });
  });
});

describe("a rule about a command", () => {
  test.each<[string, readonly (readonly string[])[], boolean]>([
    ["exec(git push)", [["git"], ["push"]], false],
    ["exec(git push *)", [["git"], ["push"]], true],
    ["exec(git fetch|Pull *)", [["git"], ["fetch", "Pull"]], true],
    ["exec(*)", [], true],
    ["Bash(git push:*)", [["git"], ["push"]], true],
    ["Bash(git push)", [["git"], ["push"]], false],
    ["exec(git push:*)", [["git"], ["push:*"]], false],
  ])("%s is the words %j, more may follow: %s", (text, words, open) => {
    const folded = words.map((word) => word.map((one) => one.toLowerCase()));
    expect(subjectOf(text).command).toEqual({ words, folded, open });
  });

  test.each<[string, string, boolean]>([
    ["with 64 words", `exec(${"a ".repeat(64)})`, true],
    ["with 65 words", `exec(${"a ".repeat(65)})`, false],
    ["of a remark", "exec(# ls)", false],
    ["of two commands", "exec(ls ; rm x)", false],
    ["with an open quote", "exec(echo 'x)", false],
  ])("%s is a rule: %s", (_title, text, ok) => {
    expect(isRead(text)).toBe(ok);
  });
});

describe("a rule about a path", () => {
  test.each<[string, readonly string[], "root" | "home" | "workspace"]>([
    ["write(src/**)", ["src", "**"], "workspace"],
    ["write(./Src//a/../b)", ["Src", "b"], "workspace"],
    ["read(/etc/x)", ["etc", "x"], "root"],
    ["read(~/a)", ["a"], "home"],
    ["read(~a/b)", ["~a", "b"], "workspace"],
    ["read(a/files:)", ["a", "files:"], "workspace"],
  ])("%s is the names %j from the %s", (text, names, from) => {
    expect(subjectOf(text).path).toEqual({ names, folded: names.map((name) => name.toLowerCase()), from });
  });

  test("names files of the file store by their ids, which are no path", () => {
    expect(subjectOf("read(files:7)").path).toBeUndefined();
    expect(subjectOf("read(files:7)").target).toBe("files:7");
  });

  test("is without empty names and dots, and never leaves its root", () => {
    expect(namesOf("/a//./b/../../../c/")).toEqual(["c"]);
  });
});

describe("a rule about a host", () => {
  const long = (length: number): string => `${"a.".repeat(200)}`.slice(0, length - 1).concat("b");
  test.each<[string, object]>([
    ["web(*)", { domain: "*" }],
    ["web(domain:*)", { domain: "*" }],
    ["web(domain:Example.org.)", { domain: "example.org" }],
    ["web(domain:*.example.org)", { domain: "example.org" }],
    ["web_fetch(domain:example.org:8080)", { domain: "example.org", port: 8080 }],
    ["web_search(domain:example.org)", { domain: "example.org" }],
    [`web(domain:${long(255)})`, { domain: long(255) }],
  ])("%s means %j", (text, host) => {
    expect(subjectOf(text).host).toEqual(host);
  });

  test.each([
    "web(www.example.org)",
    "web(domains:example.org)",
    "web_fetch(example.org)",
    "web_search(example.org)",
    "web(domain:)",
    "web(domain:a.org:80:90)",
    "web(domain:a.org:0)",
    "web(domain:a.org:x)",
    "web(domain:a b)",
    `web(domain:${long(256)})`,
  ])("%s is not understood", (text) => {
    expect(isRead(text)).toBe(false);
  });
});
