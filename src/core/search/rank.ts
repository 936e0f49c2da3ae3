/** Ranks texts for the terms of a query: rare words count more, all terms together most, and of equals the newer is first. */
import type { SearchTerm } from "./parse-query.ts";
import { placedWords, type Word } from "./words.ts";

export interface WeightedTerm {
  readonly term: SearchTerm;
  /** How much it tells apart: larger for a word in fewer texts. */
  readonly weight: number;
}

interface RankedText {
  readonly score: number;
  /** Places of matches, in the order of the text. */
  readonly matches: readonly { readonly start: number; readonly end: number; readonly weight: number }[];
}

const USUAL_LENGTH = 40;
const MONTH_MS = 30 * 24 * 3_600_000;

export const weightOf = (total: number, containing: number): number =>
  Math.log(1 + (Math.max(total, containing) - containing + 0.5) / (containing + 0.5));

/** Undefined if a required term is missing, or if nothing matches. `ageMs`: since it was said. */
export function rankText(text: string, terms: readonly WeightedTerm[], ageMs: number): RankedText | undefined {
  const words = [...placedWords(text)];
  const length = 0.25 + (0.75 * words.length) / USUAL_LENGTH;
  const matches: RankedText["matches"][number][] = [];
  let score = 0;
  let covered = 0;
  let all = 0;
  for (const { term, weight } of terms) {
    all += weight;
    const found = placesOf(term, words);
    if (found.length === 0) {
      if (term.required) return undefined;
      continue;
    }
    covered += weight;
    score += (weight * found.length * 2.2) / (found.length + 1.2 * length);
    for (const place of found) matches.push({ ...place, weight });
  }
  if (matches.length === 0) return undefined;
  matches.sort((a, b) => a.start - b.start);
  const recent = 1 + 0.1 * Math.exp(-Math.max(0, ageMs) / MONTH_MS);
  return { score: score * (0.3 + 0.7 * (all === 0 ? 1 : covered / all)) * recent, matches };
}

function placesOf({ words, prefix }: SearchTerm, text: readonly Word[]): { start: number; end: number }[] {
  const places: { start: number; end: number }[] = [];
  const last = words.length - 1;
  for (let at = 0; at < text.length; at++) {
    const fits = words.every((word, index) => {
      const there = text[at + index];
      // One character of a script without spaces stands at the beginning of a pair.
      const begins = there?.unspaced || (prefix && index === last);
      return begins ? there?.word.startsWith(word) : there?.word === word;
    });
    if (fits) places.push({ start: (text[at] as Word).start, end: (text[at + last] as Word).end });
  }
  return places;
}

const SNIPPET = 240;
const BEFORE = 60;

/** The part of a text around its best matches, on one line. */
export function snippetOf(text: string, { matches }: Pick<RankedText, "matches">): string {
  let best = { at: 0, weight: -1 };
  for (const [index, { start }] of matches.entries()) {
    let weight = 0;
    for (let next = index; next < matches.length && (matches[next]?.start ?? 0) < start + SNIPPET - BEFORE; next++)
      weight += matches[next]?.weight ?? 0;
    if (weight > best.weight) best = { at: start, weight };
  }
  const from = best.at <= BEFORE ? 0 : wordStart(text, best.at - BEFORE);
  const part = text.slice(from, from + SNIPPET).toWellFormed();
  const line = part.replace(/[\s\p{Cc}]/gu, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${from + SNIPPET < text.length ? "…" : ""}`;
}

/** The place after the next blank, if one is near. */
function wordStart(text: string, at: number): number {
  const blank = text.indexOf(" ", at);
  return blank === -1 || blank > at + 20 ? at : blank + 1;
}
