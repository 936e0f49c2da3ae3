import fc from "fast-check";
import { expect, it } from "vitest";
import { clean, cleanLine } from "./clean-text.ts";

it.each([
  ["a CSI", "a\u001b[31;1mb\u001b[0m", "ab"],
  ["a title", "a\u001b]0;evil\u0007b", "ab"],
  ["a link with ST", "a\u001b]8;;http://x\u001b\\b\u001b]8;;\u001b\\", "ab"],
  ["a DCS", "a\u001bPq#0\u001b\\b", "ab"],
  ["an APC that draws a picture", "a\u001b_Gf=100;AAAA\u001b\\b", "ab"],
  ["C1 codes", "a\u009b31mb\u009d0;x\u009cc", "abc"],
  ["a sequence without an end", "a\u001b]0;text", "a0;text"],
  ["a reset", "a\u001bcb", "ab"],
  ["marks of direction", "a\u202eb\u2066c", "abc"],
  ["hidden tags", "a\u{e0041}b", "ab"],
  ["line ends of other systems", "a\r\nb\rc", "a\nb\nc"],
  ["a lone half of a pair", "a\ud800b", "a\ufffdb"],
])("removes %s and keeps the text", (_, text, expected) => {
  expect(clean(text)).toBe(expected);
});

it("keeps letters of all languages, marks and emoji of several parts", () => {
  const text = "漢字 e\u0301 👩‍👩‍👧‍👦 नमस्ते ​זה";
  expect(clean(text)).toBe(text);
});

it("leaves no control character but line ends in any text", () => {
  const nasty = fc.array(
    fc.oneof(
      fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)),
      fc.constantFrom("\u001b", "\u001b[", "\u001b]", "\u009b", "\u0007", "\u001b\\"),
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(nasty, (parts) => {
      const text = clean(parts.join(""));
      expect(text).not.toMatch(/[^\P{Cc}\n]/u);
      expect(clean(text)).toBe(text);
    }),
  );
});

it("cuts a line", () => {
  expect(cleanLine("a\n b".repeat(100), 10)).toBe("a ba ba b…");
});
