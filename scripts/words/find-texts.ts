/**
 * Finds the sentences that people read in a file: comments, test titles, documentation, texts of the command line and the
 * page, and error messages. Code in backticks becomes `X`, so that a rule sees one word.
 */
import { blank, type Region, regionsOf } from "../mask-source.ts";

/** `group` is the title of a `describe`, `text` a string that people read. */
export type TextKind = "comment" | "title" | "group" | "doc" | "text";

export interface Sentence {
  readonly line: number;
  readonly kind: TextKind;
  readonly text: string;
}

interface Passage {
  readonly at: number;
  readonly kind: TextKind;
  readonly text: string;
}

const IS_TEST = /\.test(?:-kit)?\.tsx?$|^test\//;
/** Files in which every string with several words is read by people. */
const TEXT_FILES = /^src\/app\/cli\/|^web\/src\/texts\.ts$/;

/** Ends with a stop, or with the passage. A dot inside of a word or a number is not a stop. */
const SENTENCE = /[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]?/g;

export function findSentences(file: string, source: string): readonly Sentence[] {
  const passages = file.endsWith(".md") ? docPassages(source) : codePassages(file, source);
  const lineOf = lineCounter(source);
  return passages.flatMap(({ at, kind, text }) => {
    const sentences = kind === "title" || kind === "group" ? [{ index: 0, 0: text }] : text.matchAll(SENTENCE);
    return [...sentences].flatMap(({ index, 0: sentence }) => {
      const words = sentence.replace(/\s+/g, " ").trim();
      const lead = sentence.length - sentence.trimStart().length;
      return words.split(" ").length < 3 ? [] : [{ line: lineOf(at + index + lead), kind, text: words }];
    });
  });
}

/** Replaces code by `X` and keeps the length, so that positions stay right. */
const hideCode = (text: string): string =>
  text.replace(/(`+)[^`]+\1/g, (code) => code.replace(/[^\n]/g, " ").replace(/^ /, "X"));

function docPassages(source: string): readonly Passage[] {
  const spaces = (text: string): string => text.replace(/[^\n]/g, " ");
  const prose = hideCode(
    source
      .replace(/^---\n[\s\S]*?\n---\n/, spaces)
      .replace(/^( *)(```+|~~~+)[\s\S]*?\n *\2/gm, spaces)
      .replace(/<!--[\s\S]*?-->|<[a-z/][^>\n]*>/g, spaces),
  )
    .replace(/\]\([^)\s]*\)/g, spaces)
    .replace(/[*_[\]]/g, " ");
  // A paragraph, an item, a heading and a cell of a table are passages of their own.
  return [...prose.matchAll(/[^|\n]+(?:\n(?!\s*(?:\n|[-+>#|]|\d+\.\s))[^|\n]+)*/g)].map(({ index, 0: text }) => ({
    at: index,
    kind: "doc",
    text: text.replace(/^\s*(?:[-+>#]+|\d+\.)\s/, spaces),
  }));
}

function codePassages(file: string, source: string): readonly Passage[] {
  const regions = [...regionsOf(source)];
  const code = blank(source, regions);
  const strings = stringsOf(source, regions);
  const isTest = IS_TEST.test(file);
  const errors = isTest ? [] : callRanges(code, /\bnew\s+\w*Error\s*\(/g);
  const texts = strings.flatMap((one): readonly Passage[] => {
    const before = code.slice(Math.max(0, one.at - 60), one.at - 1);
    if (isTest) {
      const kind = titleKind(before);
      return kind ? [{ ...one, kind }] : [];
    }
    const isText =
      TEXT_FILES.test(file) ||
      errors.some(({ start, end }) => one.at > start && one.at < end) ||
      /\b(?:hint|description|summary|prompt|question)\??\s*[:=(]\s*[^,;=]*$|\.describe\(\s*$/.test(before);
    return isText && /\p{L}+ \p{L}+ \p{L}+/u.test(one.text) ? [{ ...one, kind: "text" }] : [];
  });
  return [...commentPassages(source, regions), ...texts];
}

function titleKind(before: string): "title" | "group" | undefined {
  if (/\bdescribe(?:\.\w+)*\s*\(\s*$/.test(before)) return "group";
  // The second call of `it.each(…)("title")`.
  return /(?:\b(?:it|test)(?:\.\w+)*\s*\(|\)\s*\()\s*$/.test(before) ? "title" : undefined;
}

/** Comments without their marks. Comments of a line that follow each other are one passage. */
function commentPassages(source: string, regions: readonly Region[]): readonly Passage[] {
  const groups: { start: number; end: number }[] = [];
  for (const { kind, start, end } of regions) {
    if (kind !== "comment") continue;
    const last = groups.at(-1);
    const between = last ? source.slice(last.end, start) : "";
    if (last && source.startsWith("//", last.start) && source.startsWith("//", start) && /^\n[ \t]*$/.test(between))
      last.end = end;
    else groups.push({ start, end });
  }
  return groups.flatMap(({ start, end }) => {
    const spaces = (text: string): string => " ".repeat(text.length);
    const text = source
      .slice(start, end)
      .replace(/^\/\*+|\*+\/$/g, spaces)
      .replace(/^[ \t]*(?:\*|\/\/+)/gm, spaces);
    if (/^\s*(?:biome-ignore|@ts-|@vitest-|eslint|@jsx)/.test(text)) return [];
    const paragraphs = hideCode(text.replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, " ")));
    return [...paragraphs.matchAll(/\S[^\n]*(?:\n(?![ \t]*(?:\n|[-@]))[^\n]*\S[^\n]*)*/g)].map(({ index, 0: one }) => ({
      at: start + index,
      kind: "comment" as const,
      text: one.replace(/^(?:- |@\w+)/, spaces),
    }));
  });
}

/** Texts of strings and templates; expressions in templates become `X`, and texts joined by `+` are one. */
function stringsOf(source: string, regions: readonly Region[]): readonly { at: number; text: string }[] {
  const found: { at: number; end: number; text: string }[] = [];
  const open: { at: number; end: number; text: string }[] = [];
  for (const { kind, start, end } of regions) {
    if (kind !== "text") continue;
    const text = source.slice(start, end);
    const isContinued = source.charAt(start - 1) === "}" && open.length > 0;
    const one = isContinued ? open.pop() : undefined;
    const joined = one ? { at: one.at, end, text: `${one.text}X${text}` } : { at: start, end, text };
    if (source.charAt(end) === "$") {
      open.push(joined);
      continue;
    }
    const last = found.at(-1);
    if (last && /^["'`]\s*\+\s*["'`]$/.test(source.slice(last.end, joined.at))) {
      last.text += joined.text;
      last.end = end;
    } else found.push(joined);
  }
  return found.map(({ at, text }) => ({ at, text: hideCode(text.replaceAll(/\\[nrt]/g, "  ").replaceAll("\\", "")) }));
}

/** From the parenthesis that a pattern ends with to the one that closes it. */
function callRanges(code: string, pattern: RegExp): readonly { start: number; end: number }[] {
  return [...code.matchAll(pattern)].map(({ index, 0: call }) => {
    const start = index + call.length;
    let depth = 1;
    let end = start;
    for (; end < code.length && depth > 0; end++) {
      if (code.charAt(end) === "(") depth++;
      if (code.charAt(end) === ")") depth--;
    }
    return { start, end };
  });
}

/** The line of a position; positions must be asked for in any order, a file has few. */
function lineCounter(source: string): (at: number) => number {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return (at) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
