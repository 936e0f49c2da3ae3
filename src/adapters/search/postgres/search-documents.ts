/**
 * Finds documents on PostgreSQL. The index answers cheaply which rows match, but reading them costs: so each query is limited to as many of
 * the newest documents as give enough matches, judged by how frequent its words are. Rare words are looked for everywhere.
 */
import type { SearchTerm } from "../../../core/search/parse-query.ts";
import type { Statement } from "../../store/postgres/batched-reads.ts";
import type { Connections } from "../../store/postgres/connections.ts";
import { agentWord } from "../documents-of.ts";
import type { DocumentIndex, NewestMatches, StoredDocument } from "../find-documents.ts";
import { newestGroups, queryOf, SPACE_SIZE, type SpaceRow } from "./search-tables.ts";
import { type Shares, shareOf, type WordShares } from "./word-shares.ts";

/** Through the index, always: a limit tempts the planner to read the table from its beginning. */
const MATCHING: Statement = {
  name: "search-matching",
  text: "SELECT n FROM search_matching($1::tsquery, $2) AS n",
};
const NEWEST: Statement = {
  name: "search-newest",
  text: `SELECT n FROM (SELECT n, words FROM search_docs WHERE n BETWEEN $1 AND $2 ORDER BY n DESC LIMIT $3) newest
WHERE words @@ $4::tsquery LIMIT $5`,
};
const READ: Statement = {
  name: "search-read",
  text: `SELECT d.n, d.text, d.at, d.speaker, d.agent AS "agentId", a.session_key AS "sessionKey", d.pos AS position,
  CASE WHEN d.file IS NULL THEN NULL ELSE substr(s.name, 7) END AS directory, f.path, d.line, d.untrusted
FROM search_docs d LEFT JOIN search_agents a ON a.id = d.agent LEFT JOIN search_files f ON f.no = d.file
LEFT JOIN search_spaces s ON s.no = f.space WHERE d.n = ANY ($1)`,
};

/** So many of the newest matches of a frequent term are enough. */
const ENOUGH = 600;
/** A word in more texts than this is found soonest by reading the newest texts. */
const NEARLY_EVERYWHERE = 0.1;
/** A word in more texts than this has more matches than anyone wants to read. */
const FREQUENT = 0.003;
/** Matches of the rarest word that the index walks through for a query of several. */
const MAX_WALK = 60_000;
/** Texts that are read one after the other. */
const MAX_READ = 15_000;
/** Of a word that is not in the sample. */
const LEAST_SHARE = 5e-4;
const MAX_TRIES = 4;

/** One space of a search, and how frequent words are in it. */
interface Place {
  readonly space: SpaceRow;
  readonly shares: Shares;
}

export function postgresDocuments(
  connections: Connections,
  spaces: readonly SpaceRow[],
  words: WordShares,
  agentId: string | undefined,
): DocumentIndex {
  const total = spaces.reduce((sum, { next }) => sum + next, 0);
  const only = agentId === undefined ? undefined : { words: [agentWord(agentId)], prefix: false, required: true };
  const query = (term: SearchTerm, { no }: SpaceRow): string =>
    only ? `${queryOf(term, no)} & ${queryOf(only, no)}` : queryOf(term, no);
  const places = (): Promise<readonly Place[]> =>
    Promise.all(spaces.map(async (space) => ({ space, shares: await words.of(space) })));

  /** The newest matches, of `counts` newest documents of each space. If there are too many, fewer documents are asked. */
  const matching = async (queries: readonly string[], counts: readonly number[], limit: number) => {
    for (let part = 1, tries = 1; ; part /= 3, tries++) {
      const whole = queries.map((text, at) => {
        const space = spaces[at];
        const groups = space && newestGroups(space, (counts[at] ?? 0) * part);
        return groups === undefined ? `(${text})` : `((${text}) & ${groups})`;
      });
      const rows = await connections.all<{ n: number }>(MATCHING, whole.join(" | "), limit);
      const isAll = part === 1 && spaces.every(({ next }, at) => (counts[at] ?? 0) >= next);
      if (rows.length < limit || tries === MAX_TRIES)
        return { documents: rows.map(({ n }) => n).sort((a, b) => b - a), complete: isAll && rows.length < limit };
      if (isAll) part = 0.5;
    }
  };
  const matchingIn = async (text: string, limit: number): Promise<readonly number[]> =>
    (await connections.all<{ n: number }>(MATCHING, text, limit)).map(({ n }) => n).sort((a, b) => b - a);
  /** The newest texts are read one after the other until enough match. */
  const readIn = async (space: SpaceRow, text: string, share: number): Promise<readonly number[]> => {
    const first = space.no * SPACE_SIZE;
    const rows = Math.min(MAX_READ, Math.ceil((3 * ENOUGH) / share));
    const found = await connections.all<{ n: number }>(NEWEST, first, first + space.next, rows, text, ENOUGH);
    return found.map(({ n }) => n);
  };
  const newest = async (term: SearchTerm, at: readonly Place[], limit: number): Promise<NewestMatches> => {
    const shares = at.map(({ shares: known }) => shareOf(term, known));
    const about = Math.round(at.reduce((sum, { space }, index) => sum + space.next * (shares[index] ?? 0), 0));
    const most = Math.max(0, ...shares);
    if (most > NEARLY_EVERYWHERE) {
      const documents = (await Promise.all(spaces.map((space) => readIn(space, query(term, space), most)))).flat();
      return { documents, complete: false, containing: Math.max(about, documents.length) };
    }
    const queries = spaces.map((space) => query(term, space));
    const counts = at.map(({ space }, index) =>
      (shares[index] ?? 0) > FREQUENT ? Math.ceil(ENOUGH / (shares[index] ?? 1)) : space.next,
    );
    const { documents, complete } = await matching(queries, counts, limit);
    return { documents, complete, containing: complete ? documents.length : Math.max(about, limit, documents.length) };
  };
  return {
    total: async () => total,
    async newest(terms, limit) {
      const at = await places();
      return Promise.all(terms.map((term) => newest(term, at, limit)));
    },
    async withAny(terms, term, limit) {
      const either = (space: SpaceRow): string => terms.map((each) => query(each, space)).join(" | ");
      const queries = spaces.map((space) => `(${either(space)}) & ${query(term, space)}`);
      return (
        await matching(
          queries,
          spaces.map(({ next }) => next),
          limit,
        )
      ).documents;
    },
    async withAll(terms, limit) {
      const at = await places();
      const all = (space: SpaceRow): string => terms.map((term) => query(term, space)).join(" & ");
      const found = await Promise.all(
        at.map(async ({ space, shares }) => {
          const each = terms.map((term) => Math.max(shareOf(term, shares), LEAST_SHARE));
          const both = each.reduce((product, share) => product * share, 1);
          const isRare = space.next * both < limit / 2 && space.next * Math.min(...each) < MAX_WALK;
          return isRare ? matchingIn(all(space), limit) : readIn(space, all(space), both);
        }),
      );
      return found.flat();
    },
    async read(documents) {
      const rows = await connections.all<StoredDocument>(READ, documents);
      const byNumber = new Map(rows.map((row) => [row.n, row]));
      return documents.flatMap((n) => byNumber.get(n) ?? []);
    },
  };
}
