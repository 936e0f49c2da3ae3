/**
 * Splits JSON5 text into tokens with their offsets. Accepts any text and never throws: the parser decides whether the text is
 * valid, this only finds positions.
 */

type Punctuation = "{" | "}" | "[" | "]" | ":" | ",";

export interface Token {
  readonly kind: Punctuation | "string" | "bare" | "junk";
  readonly start: number;
  readonly end: number;
}

const SPACE = /\s+/y;
const BARE = /[^\s{}[\],:"'/]+/y;
const LINE_END = /[\n\r\u2028\u2029]/g;

export function tokenise(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const blank = blankEnd(text, at);
    if (blank !== undefined) {
      at = blank;
      continue;
    }
    const token = tokenAt(text, at);
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

/** The end of the whitespace or comment that begins here; undefined if none begins here. */
function blankEnd(text: string, at: number): number | undefined {
  const space = matchEnd(SPACE, text, at);
  if (space !== undefined) return space;
  if (text.startsWith("//", at)) {
    LINE_END.lastIndex = at;
    return LINE_END.exec(text)?.index ?? text.length;
  }
  if (text.startsWith("/*", at)) {
    const close = text.indexOf("*/", at + 2);
    return close < 0 ? undefined : close + 2;
  }
  return undefined;
}

function tokenAt(text: string, at: number): Token {
  const first = text.charAt(at);
  if (isPunctuation(first)) return { kind: first, start: at, end: at + 1 };
  if (first === '"' || first === "'") {
    const end = stringEnd(text, at, first);
    return end === undefined ? { kind: "junk", start: at, end: text.length } : { kind: "string", start: at, end };
  }
  const bare = matchEnd(BARE, text, at);
  if (bare !== undefined) return { kind: "bare", start: at, end: bare };
  return { kind: "junk", start: at, end: text.startsWith("/*", at) ? text.length : at + 1 };
}

const isPunctuation = (letter: string): letter is Punctuation => "{}[]:,".includes(letter);

function stringEnd(text: string, at: number, quote: string): number | undefined {
  for (let next = at + 1; next < text.length; next++) {
    const letter = text.charAt(next);
    if (letter === "\\") next++;
    else if (letter === quote) return next + 1;
  }
  return undefined;
}

function matchEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
