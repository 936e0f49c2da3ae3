/** In how many texts of a space a word stands, roughly: from a sample of its newest and of all its documents. */
import type { SearchTerm } from "../../../core/search/parse-query.ts";
import type { Statement } from "../../store/postgres/batched-reads.ts";
import type { Connections } from "../../store/postgres/connections.ts";
import { SPACE_SIZE, type SpaceRow } from "./search-tables.ts";

const SAMPLE: Statement = {
  name: "search-sample",
  text: "SELECT tsvector_to_array(words) AS words FROM search_docs WHERE n = ANY ($1)",
};
const SAMPLED = 1_000;
/** Below this many documents every word is rare enough. */
const SMALL = 20_000;
const SAMPLE_MS = 300_000;
const MAX_SPACES = 1_000;
/** Words that are in fewer texts of the sample say nothing about all. */
const LEAST = 3;

/** The part of the texts that have a word: 0 for all that are rare. */
export type Shares = ReadonlyMap<string, number>;

export interface WordShares {
  of(space: SpaceRow): Promise<Shares>;
  forget(): void;
}

const NONE: Shares = new Map();

export function wordShares(connections: Connections, now: () => number): WordShares {
  const known = new Map<number, { readonly at: number; readonly shares: Shares }>();
  return {
    forget: () => known.clear(),
    async of(space) {
      const before = known.get(space.no);
      if (before && now() - before.at < SAMPLE_MS) return before.shares;
      const shares = space.next < SMALL ? NONE : await sampled(connections, space);
      if (known.size > MAX_SPACES) known.clear();
      known.set(space.no, { at: now(), shares });
      return shares;
    },
  };
}

async function sampled(connections: Connections, { no, next }: SpaceRow): Promise<Shares> {
  const first = no * SPACE_SIZE;
  const step = next / SAMPLED;
  const numbers = Array.from({ length: SAMPLED }, (_, index) => [
    first + next - 1 - index,
    first + Math.floor(index * step),
  ]);
  const rows = await connections.all<{ words: readonly string[] }>(SAMPLE, numbers.flat());
  const counts = new Map<string, number>();
  for (const { words } of rows) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const often = [...counts].filter(([, count]) => count >= LEAST);
  return new Map(often.map(([word, count]) => [word.slice(word.indexOf(".") + 1), count / rows.length]));
}

/** The part of the texts that have all words of a term, if they are independent. */
export function shareOf({ words, prefix }: SearchTerm, shares: Shares): number {
  return words.reduce((share, word, at) => share * wordShare(word, prefix && at === words.length - 1, shares), 1);
}

function wordShare(word: string, prefix: boolean, shares: Shares): number {
  if (!prefix) return shares.get(word) ?? 0;
  let sum = 0;
  for (const [each, share] of shares) if (each.startsWith(word)) sum += share;
  return Math.min(1, sum);
}
