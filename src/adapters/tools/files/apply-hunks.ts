/** Applies the hunks of a patch to the content of a file, by whole lines. Pure, and linear in both. */
import { InvalidInputError } from "../../../core/errors.ts";
import type { Hunk } from "./parse-patch.ts";

/** Throws if a hunk does not fit, or fits in two places. Hunks are in the order of the file. */
export function patched(content: string, hunks: readonly Hunk[], path: string): string {
  const endsWithLine = content === "" || content.endsWith("\n");
  const lines = (endsWithLine ? content.slice(0, -1) : content).split("\n");
  if (content === "") lines.length = 0;
  const out: string[] = [];
  let at = 0;
  const copyTo = (end: number): void => {
    for (; at < end; at++) out.push(lines[at] as string);
  };
  for (const { after, before, now } of hunks) {
    const from = after === undefined ? at : lineAfter(lines, at, after, path);
    copyTo(
      before.length > 0
        ? place(lines, before, from, after === undefined, path)
        : after === undefined
          ? lines.length
          : from,
    );
    for (const line of now) out.push(line);
    at += before.length;
  }
  copyTo(lines.length);
  return out.length === 0 ? "" : `${out.join("\n")}${endsWithLine ? "\n" : ""}`;
}

function lineAfter(lines: readonly string[], from: number, named: string, path: string): number {
  const exact = lines.indexOf(named, from);
  const wanted = named.trim();
  const found = exact === -1 ? lines.findIndex((line, index) => index >= from && line.trim() === wanted) : exact;
  if (found !== -1) return found + 1;
  throw new InvalidInputError(`There is no line "${named.slice(0, 100)}" in ${path}.`, { hint: "Read it again." });
}

function place(
  lines: readonly string[],
  sought: readonly string[],
  from: number,
  isOnly: boolean,
  path: string,
): number {
  const [first, second] = places(lines, sought, from);
  if (first === undefined) throw new InvalidInputError(`A hunk does not fit ${path}.`, { hint: "Read it again." });
  if (isOnly && second !== undefined) {
    throw new InvalidInputError(`A hunk fits ${path} in more than one place.`, {
      hint: 'Add lines around it, or a line before it after "@@".',
    });
  }
  return first;
}

/** The first two places of the sought lines, by the method of Knuth, Morris and Pratt: no line is read twice. */
function places(lines: readonly string[], sought: readonly string[], from: number): readonly number[] {
  const back = [0];
  for (let at = 1, length = 0; at < sought.length; at++) {
    while (length > 0 && sought[at] !== sought[length]) length = back[length - 1] as number;
    if (sought[at] === sought[length]) length += 1;
    back.push(length);
  }
  const found: number[] = [];
  for (let at = from, length = 0; at < lines.length && found.length < 2; at++) {
    while (length > 0 && lines[at] !== sought[length]) length = back[length - 1] as number;
    if (lines[at] === sought[length]) length += 1;
    if (length < sought.length) continue;
    found.push(at - length + 1);
    length = back[length - 1] as number;
  }
  return found;
}
