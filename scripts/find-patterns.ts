/** Finds the regular expressions of the sources. Each is on the list of patterns that were proven linear (L14). */
import { regExpsOf } from "./mask-source.ts";

/** A regular expression as it is written: `/a+b/u`. */
export type Pattern = string;

export interface FoundPattern {
  readonly file: string;
  readonly line: number;
  readonly pattern: Pattern;
}

export interface PatternProblem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export const LIST = "scripts/linear-patterns.txt";
const TEST = /\.(?:test|test-kit)\.ts$/;

/** The patterns of the shipped sources, by path and text. */
export function findPatterns(files: ReadonlyMap<string, string>): readonly FoundPattern[] {
  return [...files].flatMap(([file, source]) =>
    !/^src\/.*\.ts$/.test(file) || TEST.test(file)
      ? []
      : regExpsOf(source).map(({ start, text }) => ({ file, line: lineOf(source, start), pattern: text })),
  );
}

/** The patterns of the list. Lines that do not begin with a slash are comments. */
export const readList = (text: string): ReadonlySet<Pattern> =>
  new Set(text.split("\n").filter((line) => line.startsWith("/")));

/** Patterns that are not on the list, entries that are in no source, and patterns that are not written as literals. */
export function patternProblems(files: ReadonlyMap<string, string>, list: string): readonly PatternProblem[] {
  const found = findPatterns(files);
  const known = readList(list);
  const used = new Set(found.map(({ pattern }) => pattern));
  return [
    ...found
      .filter(({ pattern }) => !known.has(pattern))
      .map(({ file, line, pattern }) => ({
        file,
        line,
        message: `${pattern} is not on the list of linear patterns; run \`npm run tool -- patterns --write\``,
      })),
    ...[...known]
      .filter((pattern) => !used.has(pattern))
      .map((pattern) => ({
        file: LIST,
        line: list.split("\n").indexOf(pattern) + 1,
        message: `${pattern} is in no source; run \`npm run tool -- patterns --write\``,
      })),
  ];
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;
