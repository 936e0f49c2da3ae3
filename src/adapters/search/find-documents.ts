/**
 * Finds the best documents for a query with a bounded number of steps, whatever the words. A word in many texts is looked for among
 * the newest ones, or together with the rarer words; so the most frequent words cost no more than others.
 */
import type { AgentId } from "../../core/ids.ts";
import { parseQuery, type SearchTerm } from "../../core/search/parse-query.ts";
import { rankText, snippetOf, type WeightedTerm, weightOf } from "../../core/search/rank.ts";
import type { SearchHit, Speaker } from "../../core/search/search-index.ts";

/** Larger numbers are newer within a space. */
export type DocumentNumber = number;

export interface StoredDocument {
  readonly n: DocumentNumber;
  readonly text: string;
  readonly at: number;
  readonly speaker: Speaker;
  readonly agentId: AgentId | null;
  readonly sessionKey: string | null;
  readonly position: number | null;
  readonly directory: string | null;
  readonly path: string | null;
  readonly line: number | null;
  readonly untrusted: string | null;
}

export interface NewestMatches {
  readonly documents: readonly DocumentNumber[];
  /** Whether these are all of them. */
  readonly complete: boolean;
  /** How many there are, or about how many. */
  readonly containing: number;
}

/** The index of one store, limited to the spaces of one search. */
export interface DocumentIndex {
  total(): Promise<number>;
  /** The newest documents with each of these terms. */
  newest(terms: readonly SearchTerm[], limit: number): Promise<readonly NewestMatches[]>;
  /** Documents with this term and one of the others, which are rare. */
  withAny(rare: readonly SearchTerm[], term: SearchTerm, limit: number): Promise<readonly DocumentNumber[]>;
  /** The newest documents with all of these terms, which are frequent. */
  withAll(terms: readonly SearchTerm[], limit: number): Promise<readonly DocumentNumber[]>;
  read(documents: readonly DocumentNumber[]): Promise<readonly StoredDocument[]>;
}

const NOTHING: NewestMatches = { documents: [], complete: true, containing: 0 };
const PER_TERM = 1_500;
const POOL = 80;
/** Of the frequent words of a query, these many are looked up together with its rare ones. */
const MAX_FREQUENT = 4;
/** A word in more than this part of all texts tells nothing if there are others. */
const TELLS_NOTHING = 0.3;

interface Looked extends NewestMatches {
  readonly term: SearchTerm;
  readonly weight: number;
}

export async function findDocuments(
  index: DocumentIndex,
  query: string,
  { limit, now }: { readonly limit: number; readonly now: number },
): Promise<readonly SearchHit[]> {
  const terms = parseQuery(query);
  if (terms.length === 0 || limit < 1) return [];
  const total = await index.total();
  const found = await index.newest(terms, PER_TERM);
  const looked = terms.map((term, place): Looked => {
    const matches = found[place] ?? NOTHING;
    return { ...matches, term, weight: weightOf(total, matches.containing) };
  });
  const scores = await scoreDocuments(index, looked, total);
  const pool = [...scores]
    .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || b - a)
    .slice(0, POOL)
    .map(([n]) => n);
  return ranked(await index.read(pool), looked, limit, now);
}

async function scoreDocuments(
  index: DocumentIndex,
  looked: readonly Looked[],
  total: number,
): Promise<Map<DocumentNumber, number>> {
  const scores = new Map<DocumentNumber, number>();
  const add = (documents: Iterable<DocumentNumber>, weight: number) => {
    for (const n of documents) scores.set(n, (scores.get(n) ?? 0) + weight);
  };
  const rare = looked.filter(({ complete }) => complete);
  const frequent = looked.filter(({ complete }) => !complete).sort((a, b) => a.containing - b.containing);
  for (const { documents, weight } of rare) add(documents, weight);
  const found = rare.filter(({ documents }) => documents.length > 0).map(({ term }) => term);
  const telling = frequent.filter(({ containing }) => containing < total * TELLS_NOTHING).slice(0, MAX_FREQUENT);
  if (found.length > 0) {
    const both = await Promise.all(telling.map(({ term }) => index.withAny(found, term, PER_TERM)));
    for (const [place, documents] of both.entries()) add(documents, telling[place]?.weight ?? 0);
  } else {
    const together = frequent.slice(0, MAX_FREQUENT).map(({ term }) => term);
    if (together.length > 1) add(await index.withAll(together, PER_TERM), 1);
    for (const { documents, weight } of frequent) add(documents, weight);
  }
  const required = rare.filter(({ term }) => term.required);
  if (required.length === 0) return scores;
  const having = required.map(({ documents }) => new Set(documents));
  return new Map([...scores].filter(([n]) => having.every((set) => set.has(n))));
}

function ranked(
  documents: readonly StoredDocument[],
  looked: readonly Looked[],
  limit: number,
  now: number,
): readonly SearchHit[] {
  const terms: readonly WeightedTerm[] = looked;
  const best = new Map<string, { readonly hit: SearchHit; readonly n: DocumentNumber }>();
  for (const document of documents) {
    const rank = rankText(document.text, terms, now - document.at);
    if (!rank) continue;
    const hit = hitOf(document, rank.score, snippetOf(document.text, rank));
    // Parts of one message or note section: the best one stands for it.
    const known = best.get(hit.ref);
    if (!known || known.hit.score < hit.score) best.set(hit.ref, { hit, n: document.n });
  }
  return [...best.values()]
    .sort((a, b) => b.hit.score - a.hit.score || b.n - a.n)
    .slice(0, limit)
    .map(({ hit }) => hit);
}

function hitOf(document: StoredDocument, score: number, snippet: string): SearchHit {
  const { speaker, at, agentId, sessionKey, position, directory, path, line, untrusted } = document;
  const isNote = path !== null;
  return {
    source: isNote ? "note" : "conversation",
    ref: isNote ? `note:${path}#${line ?? 1}` : `chat:${agentId}#${position}`,
    speaker,
    at,
    snippet,
    score: Math.round(score * 1_000) / 1_000,
    agentId: agentId ?? undefined,
    sessionKey: sessionKey ?? undefined,
    position: position ?? undefined,
    directory: directory ?? undefined,
    path: path ?? undefined,
    line: line ?? undefined,
    untrusted: untrusted ?? undefined,
  };
}
