/** Quotes arguments for a POSIX shell: the shell passes each of them on exactly as it is. */
export const quoteShell = (argv: readonly string[]): string => argv.map(quoted).join(" ");

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The words of a line that consists of words, quotes and spaces only, as programs make it that quote every argument. */
export function splitQuoted(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (char === " ") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'" || char === '"') {
      const end = line.indexOf(char, at + 1);
      if (end === -1) break;
      word = (word ?? "") + line.slice(at + 1, end);
      at = end;
    } else word = (word ?? "") + char;
  }
  return word === undefined ? words : [...words, word];
}
