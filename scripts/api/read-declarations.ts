/**
 * Reads the exported declarations of a source file with their doc comments, by its layout: sources are formatted, so a declaration
 * begins in the first column and a member two spaces further in. Bodies are left out.
 */

export interface Member {
  readonly name: string;
  readonly signature: string;
  readonly doc: string;
}

export interface Declaration {
  readonly kind: "function" | "class" | "interface" | "type" | "const";
  readonly name: string;
  readonly signature: string;
  readonly doc: string;
  /** The members of an interface or a class. */
  readonly members: readonly Member[];
}

const HEAD = /^export (?:async |abstract )?(function|class|interface|type|const) (\w+)/;

/** By name. Overloads of a function are one declaration with several signatures. */
export function readDeclarations(source: string): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  const lines = source.split("\n");
  let doc = "";
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (/^\/\*\*/.test(line)) {
      const end = endOfComment(lines, at);
      doc = docOf(lines.slice(at, end + 1));
      at = end;
      continue;
    }
    const [, kind, name = ""] = HEAD.exec(line) ?? [];
    if (kind !== undefined) {
      const { text, end } = statement(lines, at, 0);
      const isBlock = kind === "class" || kind === "interface";
      found.set(name, {
        kind: kind as Declaration["kind"],
        name,
        doc,
        signature: signatureOf(kind, isBlock ? headOf(text) : text),
        members: isBlock ? membersOf(lines, at) : [],
      });
      at = isBlock ? at : end;
    }
    if (line.trim() !== "" && !line.trim().startsWith("//")) doc = "";
  }
  return found;
}

function membersOf(lines: readonly string[], from: number): readonly Member[] {
  const members: Member[] = [];
  let doc = "";
  // The head may span several lines.
  let at = from;
  while (!(lines[at] ?? "").endsWith("{")) at++;
  for (at += 1; at < lines.length && lines[at] !== "}"; at++) {
    const line = lines[at] ?? "";
    if (line.startsWith("  /**")) {
      const end = endOfComment(lines, at);
      doc = docOf(lines.slice(at, end + 1));
      at = end;
      continue;
    }
    const [, name] = /^ {2}(?:readonly |async |get |static )*(\*?\[?[\w.]+\]?)[?(<:]/.exec(line) ?? [];
    if (name === undefined || name === "constructor") {
      if (/^ {2}\S/.test(line)) doc = "";
      continue;
    }
    const { text, end } = statement(lines, at, 2);
    const signature = signatureOf("member", text);
    const last = members.at(-1);
    // An implementation behind its overloads has no comment and adds nothing.
    if (last?.name !== name || doc !== "" || withoutBody(text) === text) members.push({ name, signature, doc });
    doc = "";
    at = end;
  }
  return members;
}

/** The lines of a statement, and the last one of it: with its body, which `signatureOf` leaves out. */
function statement(lines: readonly string[], from: number, indent: number): { text: string; end: number } {
  const close = new RegExp(`^ {${indent}}[})\\]]`);
  let end = from;
  const isWhole = (line: string): boolean => /[;]$/.test(line) || line.trim() === "";
  if (!isWhole(lines[from] ?? "")) {
    for (end = from + 1; end < lines.length; end++) {
      const line = lines[end] ?? "";
      if (close.test(line) && !/[{(,]$|=>$/.test(line)) break;
      if (
        isWhole(line) &&
        new RegExp(`^ {${indent},${indent + 4}}\\S`).test(line) &&
        balanced(lines.slice(from, end + 1))
      )
        break;
    }
  }
  return { text: lines.slice(from, end + 1).join("\n"), end };
}

function balanced(lines: readonly string[]): boolean {
  let depth = 0;
  for (const sign of lines.join("\n").replace(/=>/g, "")) {
    if ("([{".includes(sign)) depth += 1;
    else if (")]}".includes(sign)) depth -= 1;
  }
  return depth === 0;
}

const headOf = (text: string): string => text.slice(0, text.indexOf("{"));

/** One line, without a body, and without the words that say nothing to a reader. */
function signatureOf(kind: string, text: string): string {
  const withoutComments = text.replace(/\/\*\*[\s\S]*?\*\/\s*/g, "");
  const bare = withoutComments
    .replace(/^\s*(?:export |async |readonly |static )*/, "")
    .replace(/^(?:readonly |async )+/, "");
  const hasNoBody = kind === "type" || kind === "interface" || /^\w+\??:/.test(bare);
  const cut = kind === "const" ? constHead(bare) : hasNoBody ? bare : withoutBody(bare);
  return cut
    .replace(/^\*/, "")
    .replaceAll("readonly ", "")
    .replace(/\s+/g, " ")
    .replace(/\{ \}/g, "{}")
    .replace(/,? ([)\]}])/g, " $1")
    .replace(/([([]) /g, "$1")
    .replace(/ ([)\]])/g, "$1")
    .replace(/[;,]\s*$/, "")
    .trim();
}

/** Up to the brace that opens the body: the first one outside of parentheses and angles that ends its line. */
function withoutBody(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if ("([<".includes(sign)) depth += 1;
    else if (")]".includes(sign) || (sign === ">" && text[at - 1] !== "=")) depth -= 1;
    else if (sign === "{" && depth === 0 && (text[at + 1] === "\n" || text[at + 1] === undefined)) {
      return text.slice(0, at);
    }
  }
  return text;
}

const constHead = (text: string): string => {
  const arrow = text.indexOf("=>");
  const assigned = text.indexOf("=");
  return arrow >= 0 ? text.slice(0, arrow) : text.slice(0, assigned);
};

function endOfComment(lines: readonly string[], from: number): number {
  let end = from;
  while (!(lines[end] ?? "").includes("*/")) end++;
  return end;
}

const docOf = (lines: readonly string[]): string =>
  lines
    .join("\n")
    .replace(/^\s*\/\*\*\s?/, "")
    .replace(/\s*\*\/\s*$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join(" ")
    .trim();
