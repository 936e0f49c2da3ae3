/** Counts the words of a page that people wrote: not the parts that a tool writes, and not the bars of tables. */

/** Starts with `<!-- NAME: written by ...` and ends with `<!-- end of NAME -->`. */
const WRITTEN = /<!-- (\S+): written by [^>]*-->[\s\S]*?<!-- end of \1 -->/g;

export function handWrittenWords(page: string): number {
  const words = page.replace(WRITTEN, "").match(/\S+/g) ?? [];
  return words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
