/** The words, operators and redirects of a line, and why a line cannot be read. */
import { describe, expect, test } from "vitest";
import { type ShellToken, shellTokens } from "./shell-words.ts";

/** A word as `text`, with `*` behind it for a wildcard and `~` before it for a home; an operator in brackets, a redirect in angles. */
const shown = (token: ShellToken): string => {
  if (token.is === "operator") return `[${token.text}]`;
  if (token.is === "redirect") return `<${token.text}>`;
  return `${token.tilde ? "~" : ""}"${token.text}"${token.glob ? "*" : ""}`;
};
const read = (line: string): string => {
  const tokens = shellTokens(line);
  return "unparsed" in tokens ? tokens.unparsed : tokens.tokens.map(shown).join(" ");
};

const VARIABLE = "it has a variable, whose value is not known";
const SUBSTITUTION = "it has a command substitution";
const BRACES = "it has braces";
const SUBSHELL = "it has a subshell or a function";
const BARE = "a wildcard may become an option or another word; write it with a directory, as in ./*";
const LONG_NUMBER = "shells read a long number before a redirect in two ways";

describe("a line of words", () => {
  test.each([
    ["", ""],
    [" \t ", ""],
    ["a\tb", '"a" "b"'],
    ["# a\nb # c", '[\n] "b"'],
    ["# a", ""],
    ["a \\\n b", '"a" "b"'],
    ["ab\\\ncd e", '"abcd" "e"'],
    ["a\\ b\\\\c", '"a b\\c"'],
    ["a\\'b", '"a\'b"'],
    ["'a b'c d", '"a bc" "d"'],
    ["'a\\b' ''", '"a\\b" ""'],
    ["a'$x`y`(z){}*'", '"a$x`y`(z){}*"'],
    ["a$ b$\tc$\nd$", '"a$" "b$" "c$" [\n] "d$"'],
    ["~/a ~ b~ '~/c'", '~"~/a" ~"~" "b~" "~/c"'],
    ["a&&b||c;d|e&f\ng", '"a" [&&] "b" [||] "c" [;] "d" [|] "e" [&] "f" [\n] "g"'],
    ["a<>b<&c<d>>e>|f>&g>h", '"a" <<>> "b" <<&> "c" <<> "d" <>>> "e" <>|> "f" <>&> "g" <>> "h"'],
  ])("%j is %s", (line, tokens) => expect(read(line)).toBe(tokens));

  test.each([
    ['"a b"', '"a b"'],
    ['"a"b"c" d', '"abc" "d"'],
    ['"\\"\\\\\\$\\`"', '""\\$`"'],
    ['"a\\\nb"', '"ab"'],
    ['"\\a\\ b"', '"\\a\\ b"'],
    ['"$ $\t$\n$|$)$/$"', '"$ $\t$\n$|$)$/$"'],
    ["\"'a' (b) {c} *?[d]\"", "\"'a' (b) {c} *?[d]\""],
    ['"$a"', VARIABLE],
    ['"$(a)"', SUBSTITUTION],
    ['"`a`"', SUBSTITUTION],
    ['"a', "a quote is not closed"],
    ['"a\\', "a quote is not closed"],
    ['"a\\"', "a quote is not closed"],
    ['"$', "a quote is not closed"],
  ])("in double quotes %j is %s", (line, tokens) => expect(read(line)).toBe(tokens));
});

describe("a number before a redirect", () => {
  test.each([
    ["a 2>b", '"a" <>> "b"'],
    ["a 0<b", '"a" <<> "b"'],
    ["a 2 >b", '"a" "2" <>> "b"'],
    ["a b2>c", '"a" "b2" <>> "c"'],
    ["a '2'>b", '"a" "2" <>> "b"'],
    ["a \\2>b", '"a" "2" <>> "b"'],
    ['a "2"<b', '"a" "2" <<> "b"'],
    ["a 12>b", LONG_NUMBER],
    ["a 12<b", LONG_NUMBER],
    ["a 12|b", '"a" "12" [|] "b"'],
    ["a 1'2'>b", '"a" "12" <>> "b"'],
  ])("%j is %s", (line, tokens) => expect(read(line)).toBe(tokens));
});

describe("a wildcard", () => {
  test.each([
    ["ls ./*", '"ls" "./*"*'],
    ["ls src/?.ts", '"ls" "src/?.ts"*'],
    ["ls a/[bc]", '"ls" "a/[bc]"*'],
    ["ls a/[ b", '"ls" "a/["* "b"'],
    ["[ a ]", '"[" "a" "]"'],
    ["[\ta", '"[" "a"'],
    ["ls 'a*' \\*", '"ls" "a*" "*"'],
    ["''[ a", '"["* "a"'],
    ["ls *", BARE],
    ["ls a*", BARE],
    ["ls ?", BARE],
    ["a[ b", BARE],
    ["[a]", BARE],
    ["[", BARE],
    ["ls -a/*", BARE],
    ["ls ~/*", BARE],
    ["ls a~/*", '"ls" "a~/*"*'],
  ])("%j is %s", (line, tokens) => expect(read(line)).toBe(tokens));
});

describe("a line that cannot be read", () => {
  test.each([
    ["a << b", "it has a here-document"],
    ["a <(b)", "it has a process substitution"],
    ["a >(b)", "it has a process substitution"],
    ["a &> b", "shells read &> in two ways; write > FILE 2>&1"],
    ["a |& b", "it has the operator |&"],
    ["a ;; b", "it has the operator ;;"],
    ["a ;& b", "it has the operator ;&"],
    ["$a", VARIABLE],
    ["a$b", VARIABLE],
    ["$'a'", VARIABLE],
    ["$(a)", SUBSTITUTION],
    ["a$((1))", SUBSTITUTION],
    ["`a`", SUBSTITUTION],
    ["(a)", SUBSHELL],
    ["a)", SUBSHELL],
    ["{ a; }", BRACES],
    ["a}", BRACES],
    ["'a", "a quote is not closed"],
    ["a'", "a quote is not closed"],
    ["a \\", "it ends with a backslash"],
    ["a\\", "it ends with a backslash"],
  ])("%j: %s", (line, why) => expect(read(line)).toBe(why));

  test("has more than four thousand words and signs", () => {
    const line = (words: number): string => "a ".repeat(words);
    expect(shellTokens(line(4_000))).toMatchObject({ tokens: { length: 4_000 } });
    expect(read(line(4_001))).toBe("it has too many words");
    expect(read(`${line(3_999)}; a`)).toBe("it has too many words");
    // A number before a redirect is no word.
    expect(shellTokens(`${line(3_998)}2>a`)).toMatchObject({ tokens: { length: 4_000 } });
  });
});
