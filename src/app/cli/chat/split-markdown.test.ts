import fc from "fast-check";
import { expect, it } from "vitest";
import { addText, NO_TEXT, type Piece, piecesOf, splitText } from "./split-markdown.ts";

const inPieces = (parts: readonly string[]): readonly Piece[] =>
  piecesOf(parts.reduce((split, part) => addText(split, part), NO_TEXT));

const ANSWER = "# Title\n\nText.\n\n- a\n\n  more of a\n- b\n\n```ts\nconst a = 1;\n\nconst b = 2;\n```\n\nEnd.";

it("cuts at empty lines outside of code and lists", () => {
  expect(splitText(ANSWER).map((piece) => [piece.kind, piece.text])).toEqual([
    ["markdown", "# Title"],
    ["markdown", "Text."],
    ["markdown", "- a\n\n  more of a\n- b"],
    ["code", "const a = 1;\n\nconst b = 2;"],
    ["markdown", "End."],
  ]);
});

it("makes the same pieces of the same text, however it arrives", () => {
  const text = fc.array(
    fc.constantFrom("\n", "\n\n", "```\n", "~~~js\n", "  ", "- x", "word ", "| a | b |\n", "`", "1. "),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(text, fc.array(fc.nat(9), { maxLength: 80 }), (parts, cuts) => {
      const whole = parts.join("");
      const pieces: string[] = [];
      let at = 0;
      for (const cut of cuts) {
        pieces.push(whole.slice(at, at + cut));
        at += cut;
      }
      pieces.push(whole.slice(at));
      expect(inPieces(pieces)).toEqual(splitText(whole));
    }),
  );
});

it("never changes a piece that is complete", () => {
  const first = addText(NO_TEXT, "one\n\ntwo\n\nthr");
  const second = addText(first, "ee\n\nfour");
  expect(second.done.slice(0, first.done.length)).toEqual(first.done);
  expect(second.done[0]).toBe(first.done[0]);
});

it.each([
  ["one paragraph", "word ".repeat(40_000)],
  ["one word", "x".repeat(200_000)],
  ["one block of code", `\`\`\`js\n${"const a = 1;\n".repeat(15_000)}`],
  ["one list", "- item\n".repeat(30_000)],
])("keeps the part that may change small: %s", (_, text) => {
  let split = NO_TEXT;
  for (let at = 0; at < text.length; at += 1_000) {
    split = addText(split, text.slice(at, at + 1_000));
    expect(split.tail.length).toBeLessThan(25_000);
  }
  const shown = piecesOf(split)
    .map((piece) => piece.text)
    .join("");
  expect(shown.replaceAll(/\s/gu, "").length).toBe(text.replace("```js", "").replaceAll(/\s/gu, "").length);
});
