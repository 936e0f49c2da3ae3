/** Suggests a known word for an unknown key, command or flag. */

/** Letters to insert, delete, replace or swap with a neighbour to get from one word to the other. */
export function editDistance(from: string, to: string): number {
  const a = [...from];
  const b = [...to];
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      // Before the first letter there is none: it equals no letter.
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] as number;
}

/** The candidate nearest to the word; undefined if none is near enough. */
export function closestWord(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  if (wanted.length === 0 || wanted.length > 64) return undefined;
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    const begins = wanted.length >= 3 && other.startsWith(wanted);
    const distance = begins ? Math.min(1, editDistance(wanted, other)) : editDistance(wanted, other);
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, other.length) / 3));
    // A word of one or two letters is one edit away from everything.
    if (distance > limit || distance >= Math.max(wanted.length, 1)) continue;
    if (!best || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}
