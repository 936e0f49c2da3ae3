import { describe, expect, test } from "vitest";
import { folded, MAX_WORD, pairsOf, placedWords, runsOf, withoutPlural, wordsOf } from "./words.ts";

describe("withoutPlural", () => {
  test.each([
    ["cats", "cat"],
    ["cat", "cat"],
    ["cities", "city"],
    ["houses", "hous"],
    ["house", "hous"],
    ["boxes", "box"],
    ["quizze", "quizz"],
    ["churches", "church"],
    ["wishes", "wish"],
    ["class", "class"],
    ["virus", "virus"],
    ["basis", "basis"],
    ["tables", "table"],
    // Three letters are too few to have an ending.
    ["gas", "gas"],
    ["ies", "ies"],
    ["cars", "car"],
    // Rules of English do not apply to other alphabets.
    ["кофес", "кофес"],
    ["cafés", "cafés"],
  ])("%s becomes %s", (word, one) => {
    expect(withoutPlural(word)).toBe(one);
  });
});

test.each([
  ["Straße", "straße"],
  ["CAFÉ", "cafe"],
  ["cafe\u0301", "cafe"],
  ["ＡＢＣ", "abc"],
  ["ﬁne", "fine"],
  ["한국", "한국"],
  ["plain", "plain"],
])("%s is folded to %s", (word, expected) => {
  expect(folded(word)).toBe(expected);
});

test("a word that is too long is found by its beginning", () => {
  expect(folded("A".repeat(MAX_WORD + 1))).toBe("a".repeat(MAX_WORD));
  expect(MAX_WORD).toBe(64);
});

test("a text is split into words and stretches without spaces, each with its place", () => {
  const text = "Buy 牛乳 now, x東京y!";
  const runs = [...runsOf(text)];
  expect(runs.map(({ text: run, unspaced }) => [run, unspaced])).toEqual([
    ["Buy", false],
    ["牛乳", true],
    ["now", false],
    ["x", false],
    ["東京", true],
    ["y", false],
  ]);
  for (const run of runs) expect(text.slice(run.start, run.end)).toBe(run.text);
});

test("a word after a stretch without spaces, and two stretches of different scripts, have their own places", () => {
  expect([...runsOf("ไทยlao")].map(({ text, start, end }) => [text, start, end])).toEqual([
    ["ไทย", 0, 3],
    ["lao", 3, 6],
  ]);
  expect([...runsOf("a 牛bc乳d")].map(({ text, start, end }) => [text, start, end])).toEqual([
    ...[
      ["a", 0, 1],
      ["牛", 2, 3],
      ["bc", 3, 5],
      ["乳", 5, 6],
      ["d", 6, 7],
    ],
  ]);
});

test.each([
  ["", []],
  ["東", ["東"]],
  ["東京", ["東京"]],
  ["東京都", ["東京", "京都"]],
  ["ｶﾞ", ["ガ"]],
])("the pairs of %j are %j", (run, pairs) => {
  expect(pairsOf(run)).toEqual(pairs);
});

test("the index gets pairs and single characters of a stretch without spaces, and words without plurals", () => {
  expect(wordsOf("Red Houses 東京都 東")).toEqual(["red", "hous", "東京", "京都", "東", "京", "都", "東"]);
  expect(wordsOf("東京")).toEqual(["東京", "東", "京"]);
});

test("placed words say where each pair stands, also beyond the basic plane", () => {
  const text = "Cats 𠮷野家";
  expect([...placedWords(text)]).toEqual([
    { word: "cat", start: 0, end: 4, unspaced: false },
    { word: "𠮷野", start: 5, end: 8, unspaced: true },
    { word: "野家", start: 7, end: 9, unspaced: true },
    { word: "家", start: 8, end: 9, unspaced: true },
  ]);
});
