import { describe, expect, test } from "vitest";
import { grantSchema, grantsSchema, matchesEnding, parseSubject, strictest, VERDICTS, verdictOf } from "./grant.ts";

test("of two verdicts the stricter one counts, in any order", () => {
  for (const [n, a] of VERDICTS.entries())
    for (const [m, b] of VERDICTS.entries()) expect(strictest(a, b)).toBe(VERDICTS[Math.max(n, m)]);
});

describe("what a grant is about", () => {
  test.each([
    ["exec", { action: "exec" }],
    [" cron_* ", { action: "cron_*" }],
    ["*", { action: "*" }],
    ["send(telegram:42)", { action: "send", target: "telegram:42" }],
    ["exec( git push * )", { action: "exec", target: "git push *" }],
    ["exec(a(b))", { action: "exec", target: "a(b)" }],
    ["manage.tokens", { action: "manage.tokens" }],
    ["", undefined],
    ["a b", undefined],
    ["a*b", undefined],
    ["exec()", undefined],
    ["exec( )", undefined],
    ["exec(a", undefined],
    ["exec(a)b", undefined],
    ["(a)", undefined],
    ["a".repeat(1000), { action: "a".repeat(1000) }],
    ["a".repeat(1001), undefined],
    [`  ${"a".repeat(1000)}  `, { action: "a".repeat(1000) }],
  ])("%j", (text, subject) => {
    expect(parseSubject(text)).toEqual(subject);
  });
});

test.each([
  ["cron_*", "cron_add", true],
  ["cron_*", "cron_", true],
  ["cron_*", "acron_add", false],
  ["cron", "cron", true],
  ["cron", "cron_add", false],
  ["*", "", true],
])("%s covers %s: %s", (pattern, text, is) => {
  expect(matchesEnding(pattern, text)).toBe(is);
});

test.each([
  [{ allow: "a" }, { verdict: "allow", subject: "a" }],
  [
    { ask: "a", note: "n" },
    { verdict: "ask", subject: "a" },
  ],
  [
    { deny: "a", when: "untrusted" as const },
    { verdict: "deny", subject: "a" },
  ],
])("%j", (grant, verdict) => {
  expect(verdictOf(grantSchema.parse(grant))).toEqual(verdict);
});

test.each<[string, unknown, boolean]>([
  ["no verdict", {}, false],
  ["two verdicts", { allow: "a", deny: "b" }, false],
  ["no subject", { allow: "a b" }, false],
  ["a long subject", { allow: `${" ".repeat(999)}a` }, true],
  ["a longer one", { allow: `${" ".repeat(1000)}a` }, false],
  ["a long note", { allow: "a", note: "n".repeat(1000) }, true],
  ["a longer note", { allow: "a", note: "n".repeat(1001) }, false],
  ["another case", { allow: "a", when: "trusted" }, false],
])("a grant with %s", (_title, grant, ok) => {
  expect(grantSchema.safeParse(grant).success).toBe(ok);
});

test("a person has at most 256 grants", () => {
  const grants = (length: number) => Array.from({ length }, () => ({ allow: "a" }));
  expect(grantsSchema.safeParse(grants(256)).success).toBe(true);
  expect(grantsSchema.safeParse(grants(257)).success).toBe(false);
});

test.each([
  ["cron_*", "cron_add", true],
  ["cron_*", "cron_", true],
  ["cron_*", "cron", false],
  ["cron_*", "cronxadd", false],
  ["*", "", true],
  ["cron", "cron", true],
  ["cron", "cron_add", false],
])("the pattern %s covers %s: %s", (pattern, text, covered) => {
  expect(matchesEnding(pattern, text)).toBe(covered);
});
