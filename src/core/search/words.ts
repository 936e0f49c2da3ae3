/**
 * The words of a text, as the search index stores them and as a query asks for them: lower case, without accents, plurals folded.
 * Scripts without spaces give pairs of characters. Both stores use these words, so that both find the same. Linear.
 */

/** A stretch of a text: a word, or characters of a script that puts no spaces between words. */
interface TextRun {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly unspaced: boolean;
}

export interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** Characters of a script without spaces. */
  readonly unspaced: boolean;
}

/** A longer word is cut: it is found by its beginning. */
export const MAX_WORD = 64;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const ONLY_ASCII = /^[a-z0-9]+$/;
const ACCENTS = /[\u0300-\u036f]/g;

export function* runsOf(text: string): Generator<TextRun> {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    let at = 0;
    for (const found of word.matchAll(UNSPACED)) {
      if (found.index > at) yield runAt(word.slice(at, found.index), index + at, false);
      at = found.index + found[0].length;
      yield runAt(found[0], index + found.index, true);
    }
    if (at < word.length) yield runAt(word.slice(at), index + at, false);
  }
}

const runAt = (text: string, start: number, unspaced: boolean): TextRun => ({
  text,
  start,
  end: start + text.length,
  unspaced,
});

/** One form of a word: the same for every spelling that should be found. */
export function folded(word: string): string {
  const lower = word.slice(0, MAX_WORD).toLowerCase();
  if (ONLY_ASCII.test(lower)) return lower;
  return lower.normalize("NFKD").replace(ACCENTS, "").normalize("NFC");
}

/** English plurals, roughly: the index and the queries fold alike. "Houses" and "house" become "hous". */
export function withoutPlural(word: string): string {
  if (word.length < 4 || !ONLY_ASCII.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  const plural = word.endsWith("s") && !/(?:ss|us|is)$/.test(word);
  const one = plural ? word.slice(0, -1) : word;
  return /(?:[sxz]|ch|sh)e$/.test(one) ? one.slice(0, -1) : one;
}

/** The pairs of neighbouring characters; one character alone is itself. */
export function pairsOf(run: string): readonly string[] {
  const characters = [...run.normalize("NFKC")];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** The words of a text in their order, for the index. A stretch without spaces gives its pairs, then its single characters. */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const { text: run, unspaced } of runsOf(text)) {
    if (!unspaced) words.push(withoutPlural(folded(run)));
    else {
      words.push(...pairsOf(run));
      const characters = [...run.normalize("NFKC")];
      if (characters.length > 1) words.push(...characters);
    }
  }
  return words;
}

/** The words with their places, to rank a text and to choose its snippet. A pair of characters stands at its first one. */
export function* placedWords(text: string): Generator<Word> {
  for (const { text: run, start, end, unspaced } of runsOf(text)) {
    if (!unspaced) yield { word: withoutPlural(folded(run)), start, end, unspaced };
    else {
      const characters = [...run];
      let at = start;
      for (const [index, character] of characters.entries()) {
        const next = characters[index + 1];
        const word = (next === undefined ? character : character + next).normalize("NFKC");
        yield { word, start: at, end: at + character.length + (next?.length ?? 0), unspaced };
        at += character.length;
      }
    }
  }
}
