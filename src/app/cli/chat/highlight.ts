/** Colours code by what most languages share: comments, strings, numbers, keywords. One pass over the text. */
import type { Theme } from "./theme.ts";

const WORDS =
  "abstract and as assert async await bool boolean break case catch class const continue def default defer del do done echo elif else end enum esac export extends extern false fi final finally fn for foreach from func function go goto if impl implements import in include int interface is lambda let local loop match mod module mut namespace new nil none not null nullptr of or package pass print private protected pub public raise readonly ref require return select self set sizeof static str string struct super switch template then this throw throws trait true try type typedef typeof undefined union unless until use using val var virtual void where while with yield SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE JOIN LEFT ORDER BY GROUP LIMIT AND OR NOT NULL None True False";
const KEYWORDS: ReadonlySet<string> = new Set(WORDS.split(" "));

/** Languages in which `#` begins a comment, and those with `--`. All others: `//` and `/*`. */
const HASH = new Set([
  "py",
  "python",
  "sh",
  "bash",
  "zsh",
  "shell",
  "console",
  "rb",
  "ruby",
  "yaml",
  "yml",
  "toml",
  "ini",
  "conf",
  "dockerfile",
  "make",
  "makefile",
  "r",
  "perl",
  "elixir",
  "nix",
]);
const DASHES = new Set(["sql", "lua", "haskell", "hs", "ada"]);
/** Not code. */
const PLAIN = new Set(["", "text", "txt", "plain", "output", "log", "md", "markdown"]);

const WORD = /^[A-Za-z_$]$/u;
const IN_WORD = /^[\w$]$/u;
const IN_NUMBER = /^[\w.]$/u;
const DIGIT = /^\d$/u;

export function highlight(code: string, language: string, theme: Theme): string {
  const name = language.toLowerCase();
  if (!theme.hasColor || PLAIN.has(name)) return code;
  const comment = HASH.has(name) ? "#" : DASHES.has(name) ? "--" : "//";
  const parts: string[] = [];
  /** Quotes without a second one in this line. */
  let alone = "";
  for (let at = 0; at < code.length; ) {
    const char = code[at] ?? "";
    if (char === "\n") alone = "";
    const isQuote = (char === '"' || char === "'" || char === "`") && !alone.includes(char);
    const end = code.startsWith(comment, at)
      ? lineEnd(code, at)
      : code.startsWith("/*", at) && comment === "//"
        ? blockEnd(code, at)
        : isQuote
          ? quoteEnd(code, at, char)
          : undefined;
    if (end !== undefined && end > at) {
      parts.push(eachLine(code.slice(at, end), isQuote ? theme.string : theme.comment));
      at = end;
      continue;
    }
    if (isQuote) alone += char;
    const token = wordAt(code, at, char);
    parts.push(painted(token, theme));
    at += token.length;
  }
  return parts.join("");
}

function painted(token: string, theme: Theme): string {
  if (DIGIT.test(token.slice(0, 1))) return theme.number(token);
  return KEYWORDS.has(token) ? theme.keyword(token) : token;
}

function wordAt(code: string, at: number, char: string): string {
  const inside = DIGIT.test(char) ? IN_NUMBER : WORD.test(char) ? IN_WORD : undefined;
  if (!inside) return char;
  let end = at + 1;
  while (end < code.length && inside.test(code[end] ?? "")) end += 1;
  return code.slice(at, end);
}

function lineEnd(code: string, at: number): number {
  const end = code.indexOf("\n", at);
  return end < 0 ? code.length : end;
}

function blockEnd(code: string, at: number): number {
  const end = code.indexOf("*/", at + 2);
  return end < 0 ? code.length : end + 2;
}

/** Behind the second quote in this line; undefined if there is none. */
function quoteEnd(code: string, at: number, quote: string): number | undefined {
  for (let end = at + 1; end < code.length && code[end] !== "\n"; end++) {
    if (code[end] === "\\") end += 1;
    else if (code[end] === quote) return end + 1;
  }
  return undefined;
}

/** A line is shown on its own, so each has its colour. */
const eachLine = (text: string, paint: (text: string) => string): string => text.split("\n").map(paint).join("\n");
