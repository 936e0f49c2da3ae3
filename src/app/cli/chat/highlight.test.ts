import { expect, it } from "vitest";
import { highlight } from "./highlight.ts";
import { themeOf } from "./theme.ts";

/** Marks instead of colours. */
const theme = {
  ...themeOf({}),
  keyword: (text: string) => `<k ${text}>`,
  string: (text: string) => `<s ${text}>`,
  number: (text: string) => `<n ${text}>`,
  comment: (text: string) => `<c ${text}>`,
};

it.each([
  ["ts", 'const a = "x\\"y"; // it', '<k const> a = <s "x\\"y">; <c // it>'],
  ["py", "def f(x): # it\n  return 12.5", "<k def> f(x): <c # it>\n  <k return> <n 12.5>"],
  ["sql", "SELECT 1 -- all", "<k SELECT> <n 1> <c -- all>"],
  ["js", "/* a\nb */ x", "<c /* a>\n<c b */> x"],
  ["js", "it's 'fine'", "it<s 's '>fine'"],
  ["text", "const a = 1", "const a = 1"],
])("colours %s", (language, code, expected) => {
  expect(highlight(code, language, theme)).toBe(expected);
});

it("changes no text, and ends on quotes and slashes without end", () => {
  for (const code of ["'".repeat(50_000), "'\\".repeat(25_000), "/*".repeat(25_000), "`\n".repeat(20_000)]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape codes.
    expect(highlight(code, "js", themeOf({})).replaceAll(/\u001b\[\d{1,2}m/gu, "")).toBe(code);
  }
});
