/**
 * Which pieces of a PL/pgSQL function a test runs: where a list of statements begins, and where it goes on after a branch or
 * a loop, the function sends a notice with the file and the line.
 */

const BEGINS = /(?:\b(?:BEGIN|THEN|ELSE|LOOP)|\bEND (?:IF|CASE|LOOP);)\s*$/;
/** Conditions that are looked at although the list before them was not run. */
const OTHER_BRANCH = /^\s*(?:ELSIF|WHEN)\b/;

/** The function with its notices. */
export function withProbes(file: string, text: string): string {
  const first = firstLine(text);
  return text
    .split("\n")
    .map((line, index) => (index >= first && BEGINS.test(code(line)) ? `${line} ${notice(file, index)}` : line))
    .join("\n");
}

/** The notice that the function sends before it runs the statement at a line (from 1). */
export function probeOf(file: string, text: string, line: number): string {
  const lines = text.split("\n").map(code);
  const first = firstLine(text);
  for (let index = line - 1; index >= first; index--) {
    if (index < line - 1 && BEGINS.test(lines[index] ?? "")) return nameOf(file, index);
    if (OTHER_BRANCH.test(lines[index] ?? "")) break;
  }
  return nameOf(file, first);
}

/** Where the function's own statements begin: before it are its declarations. */
function firstLine(text: string): number {
  return text.split("\n").findIndex((line) => /^BEGIN\b/.test(line));
}

const code = (line: string): string => line.replace(/--.*$/, "");
const notice = (file: string, index: number): string => `RAISE NOTICE '${nameOf(file, index)}';`;
const nameOf = (file: string, index: number): string => `rookery ${file}:${index + 1}`;
