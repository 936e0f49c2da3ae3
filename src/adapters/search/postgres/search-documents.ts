/** Finds documents on PostgreSQL. Words that stand in many texts are looked for among the newest ones: the index would return them all. */
import type { SearchTerm } from "../../../core/search/parse-query.ts";
import type { Statement } from "../../store/postgres/batched-reads.ts";
import type { Connections } from "../../store/postgres/connections.ts";
import { agentWord } from "../documents-of.ts";
import type { DocumentIndex, NewestMatches, StoredDocument } from "../find-documents.ts";
import { queryOf, SPACE_SIZE } from "./search-tables.ts";

const RARE: Statement = {
  name: "search-rare",
  text: `WITH found AS MATERIALIZED (SELECT n FROM search_docs WHERE words @@ $1::tsquery)
SELECT n FROM found ORDER BY n DESC LIMIT $2`,
};
const IN_WINDOW: Statement = {
  name: "search-window",
  text: `SELECT n, ARRAY(SELECT words @@ q::tsquery FROM unnest($5::text[]) WITH ORDINALITY AS queries (q, place) ORDER BY place) AS fits
FROM (SELECT n, words FROM search_docs WHERE n BETWEEN $1 AND $2 ORDER BY n DESC LIMIT $3) newest
WHERE words @@ $4::tsquery LIMIT $6`,
};
const READ: Statement = {
  name: "search-read",
  text: `SELECT d.n, d.text, d.at, d.speaker, d.agent AS "agentId", a.session_key AS "sessionKey", d.pos AS position,
  CASE WHEN d.file IS NULL THEN NULL ELSE substr(s.name, 7) END AS directory, f.path, d.line, d.untrusted
FROM search_docs d LEFT JOIN search_agents a ON a.id = d.agent LEFT JOIN search_files f ON f.no = d.file
LEFT JOIN search_spaces s ON s.no = f.space WHERE d.n = ANY ($1)`,
};
const SAMPLE: Statement = {
  name: "search-sample",
  text: "SELECT tsvector_to_array(words) AS words FROM search_docs WHERE n = ANY ($1)",
};

export interface SpaceRow {
  readonly no: number;
  readonly next: number;
}

const WINDOW = 20_000;
const SAMPLED = 1_000;
/** A word in more texts of the sample than this is frequent. */
const FREQUENT_PART = 0.01;
/** Below this many documents every word is rare enough. */
const SMALL = 20_000;
const SAMPLE_MS = 300_000;

export interface FrequentWords {
  of(space: SpaceRow): Promise<ReadonlySet<string>>;
  forget(): void;
}

/** The frequent words of each space, from a sample of its newest and of all its documents. */
export function frequentWords(connections: Connections, now: () => number): FrequentWords {
  const known = new Map<number, { readonly at: number; readonly words: ReadonlySet<string> }>();
  return {
    forget: () => known.clear(),
    async of(space) {
      const before = known.get(space.no);
      if (before && now() - before.at < SAMPLE_MS) return before.words;
      const words = space.next < SMALL ? new Set<string>() : await sampled(connections, space);
      if (known.size > 1_000) known.clear();
      known.set(space.no, { at: now(), words });
      return words;
    },
  };
}

async function sampled(connections: Connections, { no, next }: SpaceRow): Promise<ReadonlySet<string>> {
  const first = no * SPACE_SIZE;
  const step = next / SAMPLED;
  const numbers = Array.from({ length: SAMPLED }, (_, index) => [
    first + next - 1 - index,
    first + Math.floor(index * step),
  ]);
  const rows = await connections.all<{ words: readonly string[] }>(SAMPLE, numbers.flat());
  const counts = new Map<string, number>();
  for (const { words } of rows) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const least = rows.length * FREQUENT_PART;
  return new Set([...counts].filter(([, count]) => count > least).map(([word]) => word.slice(word.indexOf(".") + 1)));
}

export function postgresDocuments(
  connections: Connections,
  spaces: readonly SpaceRow[],
  frequent: FrequentWords,
  agentId: string | undefined,
): DocumentIndex {
  const numbers = spaces.map(({ no }) => no);
  const total = spaces.reduce((sum, { next }) => sum + next, 0);
  const only =
    agentId === undefined
      ? undefined
      : queryOf({ words: [agentWord(agentId)], prefix: false, required: true }, numbers);
  const limited = (query: string): string => (only === undefined ? query : `(${query}) & (${only})`);
  const query = (term: SearchTerm): string => limited(queryOf(term, numbers));

  const rare = async (text: string, limit: number): Promise<readonly number[]> =>
    (await connections.all<{ n: number }>(RARE, text, limit)).map(({ n }) => n);
  const inWindow = async (text: string, queries: readonly string[], limit: number) => {
    const found = await Promise.all(
      spaces.map(({ no, next }) => {
        const first = no * SPACE_SIZE;
        return connections.all<{ n: number; fits: readonly boolean[] }>(
          IN_WINDOW,
          first,
          first + next,
          WINDOW,
          text,
          queries,
          limit,
        );
      }),
    );
    return found.flat();
  };
  /** A term is frequent if all of its words are, in one of the spaces. */
  const areFrequent = async (terms: readonly SearchTerm[]): Promise<readonly boolean[]> => {
    const sets = await Promise.all(spaces.map((space) => frequent.of(space)));
    const isFrequent = (word: string, prefix: boolean): boolean =>
      sets.some((set) => (prefix ? [...set].some((each) => each.startsWith(word)) : set.has(word)));
    return terms.map(({ words, prefix }) =>
      words.every((word, at) => isFrequent(word, prefix && at === words.length - 1)),
    );
  };
  const searched = Math.max(
    1,
    spaces.reduce((sum, { next }) => sum + Math.min(next, WINDOW), 0),
  );
  return {
    total: async () => total,
    async newest(terms, limit) {
      const flags = await areFrequent(terms);
      const common = terms.filter((_, at) => flags[at]).map(query);
      const [window, ...complete] = await Promise.all([
        common.length === 0
          ? []
          : inWindow(common.map((each) => `(${each})`).join(" | "), common, limit * common.length),
        ...terms.map((term, at) => (flags[at] ? [] : rare(query(term), limit))),
      ]);
      let place = 0;
      return terms.map((_, at): NewestMatches => {
        if (!flags[at]) {
          const documents = complete[at] ?? [];
          return { documents, complete: documents.length < limit, containing: documents.length };
        }
        const own = place++;
        const documents = window.filter(({ fits }) => fits[own]).map(({ n }) => n);
        const containing = Math.round((documents.length * total) / searched);
        return { documents, complete: total <= WINDOW, containing: Math.max(documents.length, containing) };
      });
    },
    withAny: (terms, term, limit) => rare(`(${terms.map(query).join(" | ")}) & (${query(term)})`, limit),
    async withAll(terms, limit) {
      const all = terms.map((term) => `(${query(term)})`).join(" & ");
      return (await inWindow(all, [], limit)).map(({ n }) => n);
    },
    async read(documents) {
      const rows = await connections.all<StoredDocument>(READ, documents);
      const byNumber = new Map(rows.map((row) => [row.n, row]));
      return documents.flatMap((n) => byNumber.get(n) ?? []);
    },
  };
}
