/**
 * Reads a shell line into words and operators, in one pass. It understands the plain part of the POSIX shell only: what the shell
 * would replace (variables, substitutions, braces, most wildcards) is named as the reason why the line cannot be read.
 */

export type ShellToken =
  | { readonly is: "word"; readonly text: string; readonly glob: boolean; readonly tilde: boolean }
  | { readonly is: "operator"; readonly text: string }
  | { readonly is: "redirect"; readonly text: string };

type ShellTokens = { readonly tokens: readonly ShellToken[] } | { readonly unparsed: string };

/** A piece of a line: where it ends, or why it cannot be read. */
type Piece = { readonly text: string; readonly end: number } | { readonly unparsed: string };

/** Longer ones first. */
const OPERATORS = ["&&", "||", ";", "|", "&", "\n"];
const REDIRECTS = ["<>", "<&", "<", ">>", ">|", ">&", ">"];
const REFUSED: Readonly<Record<string, string>> = {
  "<<": "it has a here-document",
  "<(": "it has a process substitution",
  ">(": "it has a process substitution",
  "&>": "shells read &> in two ways; write > FILE 2>&1",
  "|&": "it has the operator |&",
  ";;": "it has the operator ;;",
  ";&": "it has the operator ;&",
};
const SUBSTITUTION = "it has a command substitution";
const VARIABLE = "it has a variable, whose value is not known";
const OPEN_QUOTE = "a quote is not closed";
const BARE_GLOB = "a wildcard may become an option or another word; write it with a directory, as in ./*";
const MAX_TOKENS = 4_000;

/** After `$` in double quotes these leave it as it is. */
const PLAIN_AFTER_DOLLAR = ' \t\n"|)/';
const ENDS_WORD = " \t\n;|&<>";

export function shellTokens(line: string): ShellTokens {
  const tokens: ShellToken[] = [];
  let at = 0;
  while (at < line.length) {
    const here = line[at] ?? "";
    if (here === " " || here === "\t") at += 1;
    else if (here === "#") at = endOfLine(line, at);
    else if (line.startsWith("\\\n", at)) at += 2;
    else {
      const refused = REFUSED[line.slice(at, at + 2)];
      if (refused !== undefined) return { unparsed: refused };
      const read = signAt(line, at) ?? wordAt(line, at);
      if ("unparsed" in read) return read;
      at = read.end;
      if (read.token) tokens.push(read.token);
      if (tokens.length > MAX_TOKENS) return { unparsed: "it has too many words" };
    }
  }
  return { tokens };
}

function endOfLine(line: string, from: number): number {
  const end = line.indexOf("\n", from);
  return end === -1 ? line.length : end;
}

type Read = { readonly token?: ShellToken; readonly end: number } | { readonly unparsed: string };

function signAt(line: string, at: number): Read | undefined {
  const redirect = REDIRECTS.find((sign) => line.startsWith(sign, at));
  if (redirect !== undefined) return { token: { is: "redirect", text: redirect }, end: at + redirect.length };
  const operator = OPERATORS.find((sign) => line.startsWith(sign, at));
  return operator === undefined ? undefined : { token: { is: "operator", text: operator }, end: at + operator.length };
}

/** One word with its quotes removed. A number right before a redirect belongs to the redirect and is no word. */
function wordAt(line: string, from: number): Read {
  let text = "";
  let at = from;
  let glob = false;
  let quoted = false;
  while (at < line.length && !ENDS_WORD.includes(line[at] ?? "")) {
    const piece = pieceAt(line, at, text);
    if ("unparsed" in piece) return piece;
    quoted ||= "'\"\\".includes(line[at] ?? "");
    glob ||= isGlob(line, at, at === from);
    text += piece.text;
    at = piece.end;
  }
  const isNumber = !quoted && /^\d+$/u.test(text) && (line[at] === "<" || line[at] === ">");
  if (isNumber && text.length > 1) return { unparsed: "shells read a long number before a redirect in two ways" };
  if (isNumber) return { end: at };
  return { token: { is: "word", text, glob, tilde: line[from] === "~" }, end: at };
}

/** `[` alone is a command. */
const isGlob = (line: string, at: number, isFirst: boolean): boolean =>
  "*?".includes(line[at] ?? "") || (line[at] === "[" && !(isFirst && /^\[\s/u.test(line.slice(at, at + 2))));

/** The next sign, quoted text or escaped sign of a word that has begun with `before`. */
function pieceAt(line: string, at: number, before: string): Piece {
  const here = line[at] ?? "";
  switch (here) {
    case "'": {
      const end = line.indexOf("'", at + 1);
      return end === -1 ? { unparsed: OPEN_QUOTE } : { text: line.slice(at + 1, end), end: end + 1 };
    }
    case '"':
      return doubleQuoted(line, at + 1);
    case "\\":
      if (at + 1 >= line.length) return { unparsed: "it ends with a backslash" };
      return { text: line[at + 1] === "\n" ? "" : (line[at + 1] ?? ""), end: at + 2 };
    case "$":
      return " \t\n".includes(line[at + 1] ?? " ") ? { text: "$", end: at + 1 } : { unparsed: afterDollar(line, at) };
    case "`":
      return { unparsed: SUBSTITUTION };
    case "(":
    case ")":
      return { unparsed: "it has a subshell or a function" };
    case "{":
    case "}":
      return { unparsed: "it has braces" };
    default: {
      const isLoose = isGlob(line, at, before === "") && (!before.includes("/") || "-~".includes(before[0] ?? "-"));
      return isLoose ? { unparsed: BARE_GLOB } : { text: here, end: at + 1 };
    }
  }
}

const afterDollar = (line: string, at: number): string => (line[at + 1] === "(" ? SUBSTITUTION : VARIABLE);

function doubleQuoted(line: string, from: number): Piece {
  let text = "";
  for (let at = from; at < line.length; at++) {
    const here = line[at] ?? "";
    const next = line[at + 1] ?? "";
    if (here === '"') return { text, end: at + 1 };
    if (here === "`") return { unparsed: SUBSTITUTION };
    if (here === "$" && next !== "" && !PLAIN_AFTER_DOLLAR.includes(next)) return { unparsed: afterDollar(line, at) };
    if (here === "\\" && next !== "" && '"\\$`\n'.includes(next)) {
      text += next === "\n" ? "" : next;
      at += 1;
    } else text += here;
  }
  return { unparsed: OPEN_QUOTE };
}
