/** Patterns of rules: `*` in a word, `*`, `?` and `**` in a path. Steps grow with pattern times text, both of bounded length. */

/** A longer text is compared with no pattern. */
export const MAX_TEXT = 8_192;

/** Whether a text matches a pattern in which `*` stands for any signs, and `?`, if `one` says so, for one sign. */
export function matchesWildcard(pattern: string, text: string, one = false): boolean {
  if (!pattern.includes("*") && !(one && pattern.includes("?"))) return pattern === text;
  if (text.length > MAX_TEXT) return false;
  let [p, t, star, from] = [0, 0, -1, 0];
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      from = t;
    } else if (p < pattern.length && (pattern[p] === text[t] || (one && pattern[p] === "?"))) {
      p++;
      t++;
    } else if (star !== -1) {
      p = star + 1;
      t = ++from;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** Whether a path matches a pattern, both as their names. `**` stands for any number of names. */
export function matchesPath(pattern: readonly string[], path: readonly string[]): boolean {
  let [p, t, star, from] = [0, 0, -1, 0];
  while (t < path.length) {
    const name = pattern[p];
    if (name === "**") {
      star = p++;
      from = t;
    } else if (name !== undefined && matchesWildcard(name, path[t] ?? "", true)) {
      p++;
      t++;
    } else if (star !== -1) {
      p = star + 1;
      t = ++from;
    } else return false;
  }
  while (pattern[p] === "**") p++;
  return p === pattern.length;
}
