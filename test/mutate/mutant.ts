/** One small mistake in the source: a piece of a file and what stands there instead. */

export interface Mutant {
  /** `file:line:column operator`, stable while the file does not change. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
}

export interface Edit {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** The mutants of one file, each with its place. Two edits that make the same text are one. */
export function asMutants(file: string, source: string, edits: readonly Edit[]): readonly Mutant[] {
  const seen = new Set<string>();
  const lines = lineStarts(source);
  const found: Mutant[] = [];
  for (const edit of edits) {
    const original = source.slice(edit.start, edit.end);
    const key = `${edit.start}:${edit.end}:${edit.replacement}`;
    if (original === edit.replacement || seen.has(key)) continue;
    seen.add(key);
    const line = lineOf(lines, edit.start);
    const column = edit.start - (lines[line - 1] ?? 0) + 1;
    const id = `${file}:${line}:${column} ${edit.operator}`;
    const count = found.filter((one) => one.id === id || one.id.startsWith(`${id} #`)).length;
    found.push({ ...edit, id: count === 0 ? id : `${id} #${count + 1}`, file, line, original });
  }
  return found;
}

export function mutated(source: string, mutant: Mutant): string {
  return source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end);
}

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The number of the line that holds a position, by halving. */
function lineOf(starts: readonly number[], position: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
