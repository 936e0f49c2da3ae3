/**
 * Reads what someone searches for. Every text is a query: quotes make a phrase that must occur, a star after three or more letters
 * means "begins with", and everything else is words. There are no syntax errors. Linear.
 */
import { folded, MAX_WORD, pairsOf, runsOf, withoutPlural } from "./words.ts";

/** Words that follow each other. */
export interface SearchTerm {
  readonly words: readonly string[];
  /** The last word is the beginning of one. */
  readonly prefix: boolean;
  /** Texts without it are not found. */
  readonly required: boolean;
}

export const MAX_QUERY = 1_000;
const MAX_TERMS = 16;
const MIN_PREFIX = 3;

export function parseQuery(text: string): readonly SearchTerm[] {
  const terms: SearchTerm[] = [];
  // A quote without its end is a character like any other.
  const parts = text.slice(0, MAX_QUERY).split(/["“”„«»]/);
  for (const [index, part] of parts.entries()) {
    const quoted = index % 2 === 1 && index < parts.length - 1;
    terms.push(...(quoted ? phraseTerms(part) : wordTerms(part)));
  }
  const seen = new Set<string>();
  return terms
    .filter((term) => {
      const key = `${term.prefix}${term.words.join(" ")}`;
      return seen.has(key) ? false : seen.add(key);
    })
    .slice(0, MAX_TERMS);
}

function wordTerms(text: string): SearchTerm[] {
  return [...runsOf(text)].map(({ text: run, end, unspaced }): SearchTerm => {
    if (unspaced) return { words: pairsOf(run), prefix: false, required: false };
    const prefix = text[end] === "*" && run.length >= MIN_PREFIX;
    const word = folded(run);
    return { words: [prefix ? word : withoutPlural(word)], prefix: prefix && run.length < MAX_WORD, required: false };
  });
}

/** A phrase across scripts becomes one phrase for each of them. */
function phraseTerms(text: string): SearchTerm[] {
  const phrases: SearchTerm[] = [];
  let words: string[] = [];
  let prefix = false;
  const end = () => {
    if (words.length > 0) phrases.push({ words, prefix, required: true });
    words = [];
  };
  for (const run of runsOf(text)) {
    if (prefix || run.unspaced) end();
    if (run.unspaced) phrases.push({ words: pairsOf(run.text), prefix: false, required: true });
    else {
      prefix = text[run.end] === "*" && run.text.length >= MIN_PREFIX;
      const word = folded(run.text);
      words.push(prefix ? word : withoutPlural(word));
    }
  }
  end();
  return phrases;
}
