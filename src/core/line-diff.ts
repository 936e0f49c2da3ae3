/**
 * The difference of two texts by lines, in the unified form that people read in patches. Its cost is linear in the texts: where more
 * than `MAX_EDITS` lines differ, the whole part in between is shown as removed and added.
 */

/** Lines around a change. */
const CONTEXT = 3;
const MAX_EDITS = 200;
const NO_NEWLINE = "\\ No newline at end of file";

interface DiffLine {
  readonly is: " " | "-" | "+";
  readonly text: string;
}

/** Empty if the texts are equal. `null`: there is no file. */
export function unifiedDiff(before: string | null, after: string | null, name = "file"): string {
  const lines = diffLines(linesOf(before), linesOf(after));
  const hunks = hunksOf(lines);
  if (hunks.length === 0) return "";
  const old = before === null ? "/dev/null" : name;
  return [`--- ${old}`, `+++ ${after === null ? "/dev/null" : name}`, ...hunks].join("\n");
}

const linesOf = (text: string | null): readonly string[] => {
  if (text === null) return [];
  const lines = text.split("\n");
  // The end of the last line is no line; its absence is visible.
  if (lines.at(-1) === "") lines.pop();
  else lines.push(NO_NEWLINE);
  return lines;
};

/** All lines of both texts, in order, each with what became of it. */
function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const same = (text: string): DiffLine => ({ is: " ", text });
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** The shortest list of edits, by Myers' algorithm, if it is short enough. */
function middle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const trace: Int32Array[] = [];
  const offset = MAX_EDITS + 1;
  let furthest = new Int32Array(2 * offset + 1);
  for (let edits = 0; edits <= Math.min(MAX_EDITS, a.length + b.length); edits++) {
    trace.push(furthest.slice());
    const next = furthest.slice();
    for (let k = -edits; k <= edits; k += 2) {
      const [left, right] = [furthest[offset + k - 1] as number, furthest[offset + k + 1] as number];
      let x = k === -edits || left < right ? right : left + 1;
      while (x < a.length && a[x] === b[x - k]) x++;
      next[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, offset);
    }
    furthest = next;
  }
  return [...a.map((text): DiffLine => ({ is: "-", text })), ...b.map((text): DiffLine => ({ is: "+", text }))];
}

/** `trace[n]` has the furthest places before the edit with the number n. */
function walkBack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly Int32Array[],
  offset: number,
): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  const equal = (untilX: number, untilY: number): void => {
    while (x > untilX && y > untilY) {
      lines.push({ is: " ", text: a[--x] as string });
      y--;
    }
  };
  for (let edits = trace.length - 1; edits > 0; edits--) {
    const places = trace[edits] as Int32Array;
    const k = x - y;
    const [left, right] = [places[offset + k - 1] as number, places[offset + k + 1] as number];
    const isAdded = k === -edits || left < right;
    const fromX = isAdded ? right : left;
    const fromY = fromX - (isAdded ? k + 1 : k - 1);
    equal(fromX, fromY);
    lines.push(isAdded ? { is: "+", text: b[fromY] as string } : { is: "-", text: a[fromX] as string });
    [x, y] = [fromX, fromY];
  }
  // The texts have no common beginning: the first edit starts where both start.
  return lines.reverse();
}

function hunksOf(lines: readonly DiffLine[]): readonly string[] {
  const out: string[] = [];
  let at = 0;
  let [oldLine, newLine] = [1, 1];
  const skip = (to: number): void => {
    for (; at < to; at++) {
      if (lines[at]?.is !== "+") oldLine++;
      if (lines[at]?.is !== "-") newLine++;
    }
  };
  for (;;) {
    const first = lines.findIndex(({ is }, index) => index >= at && is !== " ");
    if (first === -1) return out;
    skip(Math.max(at, first - CONTEXT));
    let last = first;
    for (let index = first; index < lines.length && index - last <= 2 * CONTEXT; index++) {
      if (lines[index]?.is !== " ") last = index;
    }
    const hunk = lines.slice(at, Math.min(lines.length, last + CONTEXT + 1));
    const olds = hunk.filter(({ is }) => is !== "+").length;
    const news = hunk.filter(({ is }) => is !== "-").length;
    out.push(`@@ -${olds === 0 ? oldLine - 1 : oldLine},${olds} +${news === 0 ? newLine - 1 : newLine},${news} @@`);
    out.push(...hunk.map(({ is, text }) => (text === NO_NEWLINE ? text : `${is}${text}`)));
    skip(at + hunk.length);
  }
}
