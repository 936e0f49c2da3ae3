import { describe, expect, test } from "vitest";
import { parseQuery } from "./parse-query.ts";
import { rankText, snippetOf, weightOf } from "./rank.ts";

const DAY_MS = 24 * 3_600_000;
const terms = (query: string, weights: readonly number[] = []) =>
  parseQuery(query).map((term, n) => ({ term, weight: weights[n] ?? 1 }));
const rank = (text: string, query: string, ageMs = 0, weights: readonly number[] = []) =>
  rankText(text, terms(query, weights), ageMs);
const score = (...args: Parameters<typeof rank>) => rank(...args)?.score ?? 0;
const places = (text: string, query: string) =>
  rank(text, query)?.matches.map(({ start, end }) => text.slice(start, end));

describe("weightOf", () => {
  test("a rare word weighs more, a word in every text still weighs something", () => {
    expect(weightOf(100, 1)).toBeGreaterThan(weightOf(100, 2));
    expect(weightOf(100, 100)).toBeGreaterThan(0);
    expect(weightOf(100, 1)).toBeCloseTo(Math.log(1 + 99.5 / 1.5), 10);
    // Counts that do not agree give no negative weight.
    expect(weightOf(1, 5)).toBe(weightOf(5, 5));
  });
});

describe("rankText", () => {
  test.each([
    ["one cat sat", "cat", ["cat"]],
    ["cat and cats", "cat", ["cat", "cats"]],
    ["a b c a b", '"a b"', ["a b", "a b"]],
    ["a b a", '"b a"', ["b a"]],
    ["catalog of cats", "cata*", ["catalog"]],
    ["the cat sleeps", '"cat sle*"', ["cat sleeps"]],
    // Only the last word of a phrase may be cut short.
    ["category sleeps", '"cat sle*"', undefined],
    ["東京都", "京都", ["京都"]],
    ["東京", "京", ["京"]],
    ["東京", "都", undefined],
    // One character is the beginning of a pair, a word is not the beginning of another.
    ["東京都", "京", ["京都"]],
    ["catalog", "cat", undefined],
    ["the catalog", '"the cat"', undefined],
    ["dog", "cat", undefined],
    ["end of a", '"a b"', undefined],
    ["cat dog", "dog cat", ["cat", "dog"]],
  ])("in %j %j matches %j", (text, query, found) => {
    expect(places(text, query)).toEqual(found);
  });

  test("a text without a required term is not found, one without another term is", () => {
    expect(rank("the cat", '"dog" cat')).toBeUndefined();
    expect(rank("the cat", "dog cat")).toBeDefined();
  });

  test("nothing is found by a query without terms", () => {
    expect(rankText("the cat", [], 0)).toBeUndefined();
  });

  test("the score is that of BM25 with the share of terms and the age", () => {
    const length = 0.25 + (0.75 * 3) / 40;
    expect(score("one cat sat", "cat", 0)).toBeCloseTo(((1 * 2.2) / (1 + 1.2 * length)) * 1.1, 10);
    expect(score("one cat sat", "cat dog", 0, [1, 3])).toBeCloseTo(
      ((1 * 2.2) / (1 + 1.2 * length)) * (0.3 + 0.7 / 4) * 1.1,
      10,
    );
    expect(rank("one cat sat", "cat", 0, [2])?.matches).toEqual([{ start: 4, end: 7, weight: 2 }]);
  });

  test("weights of zero count as fully covered", () => {
    expect(score("one cat", "cat", 0, [0])).toBe(0);
  });

  test("more terms, more occurrences, shorter texts and newer texts come first", () => {
    expect(score("cat dog", "cat dog")).toBeGreaterThan(score("cat bird", "cat dog"));
    expect(score("cat cat bird", "cat")).toBeGreaterThan(score("cat dog bird", "cat"));
    expect(score("cat", "cat")).toBeGreaterThan(score(`cat ${"x ".repeat(50)}`, "cat"));
    expect(score("cat", "cat", DAY_MS)).toBeGreaterThan(score("cat", "cat", 2 * DAY_MS));
    const old = score("cat", "cat", 30 * DAY_MS);
    expect(old / score("cat", "cat", 1e15)).toBeCloseTo(1 + 0.1 / Math.E, 10);
    // A clock that goes wrong gives no extra points.
    expect(score("cat", "cat", -DAY_MS)).toBe(score("cat", "cat", 0));
  });
});

describe("snippetOf", () => {
  const at = (text: string, ...found: [start: number, weight: number][]) =>
    snippetOf(text, { matches: found.map(([start, weight]) => ({ start, end: start + 1, weight })) });

  test("a short text is its own snippet, on one line", () => {
    expect(at(" a\nb\tc ", [1, 1])).toBe("a b c");
    expect(at("x".repeat(240), [0, 1])).toBe("x".repeat(240));
    expect(at("x".repeat(241), [0, 1])).toBe(`${"x".repeat(240)}…`);
  });

  test("a match near the beginning shows the beginning", () => {
    const text = "y".repeat(500);
    expect(at(text, [60, 1])).toBe(`${"y".repeat(240)}…`);
    expect(at(text, [61, 1])).toBe(`…${"y".repeat(240)}…`);
  });

  test("begins with the text if that is near, also where a word begins soon", () => {
    const text = `ab ${"y".repeat(500)}`;
    expect(at(text, [60, 1])).toBe(`${text.slice(0, 240)}…`);
    expect(at(text, [61, 1])).toBe(`…${"y".repeat(240)}…`);
    expect(at(`${"a".repeat(100)} bc${"d".repeat(300)}`, [160, 1])).toBe(`…bc${"d".repeat(238)}…`);
  });

  test("a snippet in the middle begins at a word, if one begins soon", () => {
    const near = `${"a".repeat(120)} ${"b".repeat(300)}`;
    expect(at(near, [160, 1])).toBe(`…${"b".repeat(240)}…`);
    expect(at(near, [161, 1])).toBe(`…${"b".repeat(240)}…`);
    const far = `${"a".repeat(121)} ${"b".repeat(300)}`;
    expect(at(far, [160, 1])).toMatch(/^…a{21} b/);
    expect(at(`${"a".repeat(400)}`, [399, 1])).toBe(`…${"a".repeat(61)}`);
  });

  test("of several places the one with the most weight near it is shown", () => {
    const text = Array.from({ length: 200 }, (_, n) => `w${String(n).padStart(3, "0")}`).join(" ");
    const place = (n: number): number => n * 5;
    expect(at(text, [place(0), 1], [place(100), 1], [place(101), 1])).toContain("w101");
    expect(at(text, [place(0), 3], [place(100), 1], [place(101), 1])).toContain("w000");
    // Of equals the first one.
    expect(at(text, [place(0), 1], [place(100), 1])).toContain("w000");
    // What stands 180 characters on is no longer near.
    expect(at(text, [0, 1], [179, 1], [700, 1.5])).toContain("w000");
    expect(at(text, [0, 1], [180, 1], [700, 1.5])).not.toContain("w000");
  });

  test("half a character at the end is shown as a replacement", () => {
    expect(at(`${"x".repeat(239)}😀`, [0, 1])).toBe(`${"x".repeat(239)}\uFFFD…`);
  });

  test("a text without matches shows its beginning", () => {
    expect(at("hello")).toBe("hello");
  });
});
