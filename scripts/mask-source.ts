/**
 * Blanks out comments and texts in a TypeScript source, so that rules find words only in code. Length and
 * lines stay the same: an offset in the result is the same offset in the source.
 */

export interface Masked {
  /** Comments blanked. */
  readonly withoutComments: string;
  /** Comments and the contents of strings, templates and regular expressions blanked. */
  readonly code: string;
}

export function maskSource(source: string): Masked {
  const regions = [...regionsOf(source)];
  return {
    withoutComments: blank(
      source,
      regions.filter(({ kind }) => kind === "comment"),
    ),
    code: blank(source, regions),
  };
}

/** The source with these regions replaced by spaces. */
export function blank(source: string, regions: readonly Region[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of regions) {
    parts.push(source.slice(at, start), source.slice(start, end).replace(/[^\n]/g, " "));
    at = end;
  }
  return parts.join("") + source.slice(at);
}

/** The regular expressions of a source with their flags, as they are written. */
export function regExpsOf(source: string): readonly { readonly start: number; readonly text: string }[] {
  return [...regionsOf(source)].flatMap(({ kind, start, end }) => {
    if (kind !== "pattern") return [];
    const [flags = ""] = /^[a-z]*/.exec(source.slice(end + 1)) ?? [];
    return [{ start: start - 1, text: `${source.slice(start - 1, end + 1)}${flags}` }];
  });
}

/** A part of a source that is not code. The delimiters of texts and patterns are outside, those of comments inside. */
export interface Region {
  readonly kind: "comment" | "text" | "pattern";
  readonly start: number;
  readonly end: number;
}

/** The regions of a source, in order. A template has one region for each part between its expressions. */
export function* regionsOf(source: string): Generator<Region> {
  /** For each open `${`, how many braces are open inside it. */
  const templates: number[] = [];
  let at = source.startsWith("#!") ? lineEnd(source, 0) : 0;
  /** Where the last comment ended and where it began: a slash is judged by what comes before comments. */
  let comment = { start: 0, end: 0 };
  while (at < source.length) {
    const two = source.slice(at, at + 2);
    const one = source.charAt(at);
    if (two === "//" || two === "/*") {
      const close = two === "//" ? lineEnd(source, at) : source.indexOf("*/", at + 2) + 2;
      const end = close < at + 2 ? source.length : close;
      yield { kind: "comment", start: at, end };
      const continues = source.slice(comment.end, at).trim() === "";
      comment = { start: continues ? comment.start : at, end };
      at = end;
    } else if (one === '"' || one === "'") {
      const end = textEnd(source, at + 1, one);
      yield { kind: "text", start: at + 1, end };
      at = end + 1;
    } else if (one === "/" && startsRegExp(source, at, comment)) {
      const end = regExpEnd(source, at);
      yield { kind: "pattern", start: at + 1, end };
      at = end + 1;
    } else if (one === "`" || (one === "}" && templates.at(-1) === 0)) {
      if (one === "}") templates.pop();
      const end = templateEnd(source, at + 1);
      yield { kind: "text", start: at + 1, end };
      if (source.startsWith("${", end)) templates.push(0);
      at = source.startsWith("${", end) ? end + 2 : end + 1;
    } else {
      const depth = templates.at(-1);
      if (depth !== undefined && one === "{") templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && one === "}") templates[templates.length - 1] = depth - 1;
      at++;
    }
  }
}

function lineEnd(source: string, from: number): number {
  const end = source.indexOf("\n", from);
  return end < 0 ? source.length : end;
}

function textEnd(source: string, from: number, close: string): number {
  for (let at = from; at < source.length; at++) {
    if (source.charAt(at) === "\\") at++;
    else if (source.charAt(at) === close) return at;
  }
  return source.length;
}

function templateEnd(source: string, from: number): number {
  for (let at = from; at < source.length; at++) {
    if (source.charAt(at) === "\\") at++;
    else if (source.charAt(at) === "`" || source.startsWith("${", at)) return at;
  }
  return source.length;
}

/** A slash begins a regular expression if a value may begin here; otherwise it divides. */
function startsRegExp(source: string, at: number, comment: { readonly start: number; readonly end: number }): boolean {
  const after = source.slice(comment.end, at).trimEnd();
  const before = after === "" ? source.slice(0, comment.start).trimEnd() : after;
  return before === "" || /[([{=,:;!&|?+>]$|\b(?:return|case|typeof|in)$/.test(before.slice(-20));
}

function regExpEnd(source: string, from: number): number {
  let inClass = false;
  for (let at = from + 1; at < source.length; at++) {
    const letter = source.charAt(at);
    if (letter === "\\") at++;
    else if (letter === "[") inClass = true;
    else if (letter === "]") inClass = false;
    else if (letter === "\n" || (letter === "/" && !inClass)) return at;
  }
  return source.length;
}
