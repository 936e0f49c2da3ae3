import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coversEffect } from "./match-rule.ts";
import { parseRule } from "./rule.ts";
import { MAX_TEXT, matchesPath, matchesWildcard } from "./wildcard.ts";

describe("a pattern of a word", () => {
  test.each<[string, string, boolean]>([
    ["abc", "abc", true],
    ["abc", "abcd", false],
    ["*", "", true],
    ["*", "abc", true],
    ["a*", "a", true],
    ["a*", "abc", true],
    ["a*", "ba", false],
    ["*c", "abc", true],
    ["*c", "abcb", false],
    ["a*c", "ac", true],
    ["a*c", "abcbc", true],
    ["a*c", "abcb", false],
    ["a*b*c", "a1b2c", true],
    ["a*b*c", "a1c2b", false],
    ["a**", "a", true],
    ["a*x", "a", false],
    ["a?c", "abc", false],
    ["a?c", "a?c", true],
    ["a?*", "a?b", true],
    ["a?*", "abb", false],
  ])("%s, %s: %s", (pattern, text, matches) => expect(matchesWildcard(pattern, text)).toBe(matches));

  test.each<[string, string, boolean]>([
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["?", "a", true],
    ["?", "", false],
    ["?*", "", false],
    ["?*", "abc", true],
    ["*?", "a", true],
    ["*.t?", "x.ts", true],
    ["*.t?", "x.t", false],
    ["plain", "plain", true],
  ])("with signs of one letter: %s, %s: %s", (pattern, text, matches) =>
    expect(matchesWildcard(pattern, text, true)).toBe(matches),
  );

  test("means what the same regular expression means", () => {
    const letters = fc.array(fc.constantFrom("a", "b", "*", "?"), { maxLength: 7 }).map((all) => all.join(""));
    const texts = fc.array(fc.constantFrom("a", "b"), { maxLength: 9 }).map((all) => all.join(""));
    fc.assert(
      fc.property(letters, texts, (pattern, text) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", "[ab]*").replaceAll("?", "[ab]")}$`);
        expect(matchesWildcard(pattern, text, true)).toBe(expression.test(text));
      }),
    );
  });

  test("a text that is too long matches only its own words", () => {
    const long = "a".repeat(MAX_TEXT);
    expect(matchesWildcard("a*", long)).toBe(true);
    expect(matchesWildcard("a*", `${long}a`)).toBe(false);
    expect(matchesWildcard(`${long}a`, `${long}a`)).toBe(true);
  });
});

describe("a pattern of a path", () => {
  const path = (text: string): string[] => (text === "" ? [] : text.split("/"));
  test.each<[string, string, boolean]>([
    ["a/b", "a/b", true],
    ["a/b", "a", false],
    ["a", "a/b", false],
    ["**", "", true],
    ["**", "a/b/c", true],
    ["a/**", "a", true],
    ["a/**", "a/b/c", true],
    ["a/**", "b/a", false],
    ["**/c", "c", true],
    ["**/c", "a/b/c", true],
    ["**/c", "a/c/b", false],
    ["a/**/c", "a/c", true],
    ["a/**/c", "a/b/b/c", true],
    ["a/**/c", "a/c/c/b", false],
    ["**/b/**/d", "a/b/c/d", true],
    ["**/b/**/d", "a/c/b/c", false],
    ["*/b", "a/b", true],
    ["*/b", "b", false],
    ["a?/b", "ax/b", true],
    ["a/**/**", "a", true],
    ["", "", true],
    ["", "a", false],
  ])("%s, %s: %s", (pattern, text, matches) => expect(matchesPath(path(pattern), path(text))).toBe(matches));
});

describe("a long word", () => {
  const covers = (verdict: "allow" | "ask" | "deny", rule: string, argv: string[]): boolean => {
    const parsed = parseRule(rule);
    if ("wrong" in parsed) throw new TypeError(parsed.wrong);
    return coversEffect(parsed.subject, verdict, { action: "exec", detail: { kind: "command", argv, cwd: "/" } });
  };
  const long = (length: number): string => `http://evil.example/${"x".repeat(length - 20)}`;

  test("does not get around a denial or a question with a wildcard", () => {
    for (const verdict of ["ask", "deny"] as const) {
      for (const length of [MAX_TEXT, MAX_TEXT + 1])
        expect(covers(verdict, "exec(curl *evil*)", ["curl", long(length)])).toBe(true);
      expect(covers(verdict, "exec(curl *evil*)", ["curl", "-s", long(MAX_TEXT + 1)])).toBe(true);
      expect(covers(verdict, "exec(curl -o *evil*)", ["curl", "-s", long(MAX_TEXT + 1), "x"])).toBe(false);
      expect(covers(verdict, "exec(curl evil)", ["curl", long(MAX_TEXT + 1)])).toBe(false);
    }
    expect(covers("deny", "exec(curl *good*)", ["curl", long(MAX_TEXT)])).toBe(false);
  });

  test("is not allowed by a wildcard", () => {
    expect(covers("allow", "exec(curl *evil*)", ["curl", long(MAX_TEXT)])).toBe(true);
    expect(covers("allow", "exec(curl *evil*)", ["curl", long(MAX_TEXT + 1)])).toBe(false);
  });
});
