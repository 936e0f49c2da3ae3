/**
 * Finds the position of a path's value in a JSON5 text, so that a message can name line and column. Works on text that the
 * parser has accepted; on other text it may find nothing, but never throws.
 */
import JSON5 from "json5";
import { type Token, tokenise } from "./json5-tokens.ts";

export type Path = readonly PropertyKey[];

/** A range of the text. Lines and columns count from 1. */
interface Place {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly column: number;
}

interface Located {
  readonly value: Place;
  /** The key in front of the value; absent for the document itself and for items of lists. */
  readonly key?: Place;
}

export type Locator = (path: Path) => Located | undefined;

/** Reads the text once, for any number of paths. If a key occurs twice it finds the last one, like the parser. */
export function locatorFor(text: string): Locator {
  const tokens = tokenise(text);
  const place = (from: number, past: number): Place => {
    const start = tokens[from]?.start ?? text.length;
    return { start, end: tokens[past - 1]?.end ?? text.length, ...lineAndColumn(text, start) };
  };
  return (path) => {
    if (tokens.length === 0) return undefined;
    let found: Child = { value: 0 };
    for (const segment of path) {
      const child = childOf(text, tokens, found.value, segment);
      if (!child) return undefined;
      found = child;
    }
    const value = place(found.value, valueEnd(tokens, found.value));
    return found.key === undefined ? { value } : { value, key: place(found.key, found.key + 1) };
  };
}

/** The position of the path, or of its nearest parent in the text if the value is missing. */
export function locateNearest(locate: Locator, path: Path): Located | undefined {
  for (let length = path.length; length >= 0; length--) {
    const found = locate(path.slice(0, length));
    if (found) return found;
  }
  return undefined;
}

export function lineAndColumn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

/** Indexes of tokens. */
interface Child {
  readonly value: number;
  readonly key?: number;
}

function childOf(text: string, tokens: readonly Token[], parent: number, segment: PropertyKey): Child | undefined {
  const opening = tokens[parent]?.kind;
  if (opening === "[") return itemOf(tokens, parent, Number(segment));
  if (opening === "{") return memberOf(text, tokens, parent, String(segment));
  return undefined;
}

function memberOf(text: string, tokens: readonly Token[], parent: number, name: string): Child | undefined {
  let found: Child | undefined;
  let at = parent + 1;
  for (let key = tokens[at]; key && key.kind !== "}"; key = tokens[at]) {
    if (tokens[at + 1]?.kind !== ":") return undefined;
    if (keyName(text, key) === name) found = { key: at, value: at + 2 };
    at = afterComma(tokens, valueEnd(tokens, at + 2));
  }
  return found;
}

function itemOf(tokens: readonly Token[], parent: number, index: number): Child | undefined {
  let at = parent + 1;
  for (let item = 0; at < tokens.length && tokens[at]?.kind !== "]"; item++) {
    if (item === index) return { value: at };
    at = afterComma(tokens, valueEnd(tokens, at));
  }
  return undefined;
}

/** The index after the value that begins at a token. Counts brackets and does not recurse: nesting may be very deep. */
function valueEnd(tokens: readonly Token[], from: number): number {
  let depth = 0;
  let at = from;
  do {
    const kind = tokens[at++]?.kind;
    if (kind === undefined) return tokens.length;
    if (kind === "{" || kind === "[") depth++;
    if (kind === "}" || kind === "]") depth--;
  } while (depth > 0);
  return at;
}

const afterComma = (tokens: readonly Token[], at: number): number => (tokens[at]?.kind === "," ? at + 1 : at);

/** A key as the parser reads it, quoted or not, with or without escapes; undefined if the parser would refuse it. */
function keyName(text: string, token: Token): string | undefined {
  try {
    return Object.keys(JSON5.parse<object>(`{${text.slice(token.start, token.end)}:0}`))[0];
  } catch {
    return undefined;
  }
}
