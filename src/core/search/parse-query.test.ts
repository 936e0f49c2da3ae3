import { describe, expect, test } from "vitest";
import { MAX_QUERY, parseQuery } from "./parse-query.ts";
import { MAX_WORD } from "./words.ts";

const word = (...words: string[]) => ({ words, prefix: false, required: false });
const begins = (...words: string[]) => ({ words, prefix: true, required: false });
const phrase = (...words: string[]) => ({ words, prefix: false, required: true });

describe("parseQuery", () => {
  test.each([
    ["", []],
    ["... !", []],
    ["Red cats", [word("red"), word("cat")]],
    ["red RED Red", [word("red")]],
    ['"red cats" dog', [phrase("red", "cat"), word("dog")]],
    ["„rote Katze“", [phrase("rote", "katz")]],
    ["«a b» c", [phrase("a", "b"), word("c")]],
    // A quote without its end is a character.
    ['"red cats', [word("red"), word("cat")]],
    ['"a b" "c d', [phrase("a", "b"), word("c"), word("d")]],
    ['"a" x "b"', [phrase("a"), word("x"), phrase("b")]],
    ['""', []],
    // A star after three letters or more.
    ["cats*", [begins("cats")]],
    ["cat*", [begins("cat")]],
    ["ca*", [word("ca")]],
    ["cat *", [word("cat")]],
    ["cat cat*", [word("cat"), begins("cat")]],
    ['"my cats*"', [{ words: ["my", "cats"], prefix: true, required: true }]],
    ['"my ca* s"', [phrase("my", "ca", "s")]],
    ['"cats* sleep"', [{ words: ["cats"], prefix: true, required: true }, phrase("sleep")]],
    // A script without spaces is asked for by its pairs.
    ["東京都", [word("東京", "京都")]],
    ['"red 東京 cats"', [phrase("red"), phrase("東京"), phrase("cat")]],
  ])("%j", (text, terms) => {
    expect(parseQuery(text)).toEqual(terms);
  });

  test("a query has a bounded number of terms and of characters", () => {
    const many = Array.from({ length: 17 }, (_, n) => `w${n}`).join(" ");
    expect(parseQuery(many)).toHaveLength(16);
    const far = `${" ".repeat(MAX_QUERY - 1)}ab`;
    expect(parseQuery(far)).toEqual([word("a")]);
    expect(MAX_QUERY).toBe(1_000);
  });

  test("a word that is cut is looked for as it is stored, not by its beginning", () => {
    const long = "a".repeat(MAX_WORD);
    expect(parseQuery(`${long}*`)).toEqual([word(long)]);
    expect(parseQuery(`${long.slice(1)}*`)).toEqual([begins(long.slice(1))]);
  });
});
