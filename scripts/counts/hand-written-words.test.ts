import { expect, it } from "vitest";
import { handWrittenWords } from "./hand-written-words.ts";

it("counts words of text, tables and code, without bars and rules of tables", () => {
  expect(handWrittenWords("Two words.\n\n| a | b |\n| --- | --- |\n\n```sh\nnpm ci\n```\n")).toBe(7);
});

it("does not count what a tool writes", () => {
  const page =
    "before\n<!-- walk: written by npm run tool -- walk -->\nmany generated words\n<!-- end of walk -->\nafter";
  expect(handWrittenWords(page)).toBe(2);
});
