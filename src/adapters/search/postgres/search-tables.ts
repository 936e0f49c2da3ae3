/**
 * The tables of the search index on PostgreSQL. They are not part of the store's migrations: the index can be rebuilt at any time, so
 * tables of another version are dropped (M35). A word in the index begins with the number of its space, so a search never meets the
 * words of other people.
 */
import type pg from "pg";
import type { SearchTerm } from "../../../core/search/parse-query.ts";
import { isTraceOf, type SearchTraces, type Space } from "../../../core/search/search-index.ts";
import { clean } from "../../store/postgres/clean-text.ts";
import type { Connections } from "../../store/postgres/connections.ts";
import { indexedWords, type NewDocument } from "../documents-of.ts";

const VERSION = "2";
const TABLES = ["search_docs", "search_files", "search_agents", "search_spaces", "search_meta"];
const SCHEMA = `
CREATE TABLE search_meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE search_spaces (no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, next bigint NOT NULL DEFAULT 0);
CREATE TABLE search_agents (id text COLLATE "C" PRIMARY KEY, session_key text NOT NULL, pos bigint NOT NULL);
CREATE TABLE search_files (no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space bigint NOT NULL, path text COLLATE "C" NOT NULL, stamp text NOT NULL, UNIQUE (space, path));
CREATE TABLE search_docs (n bigint PRIMARY KEY, agent text COLLATE "C", pos bigint, file bigint, line bigint, at bigint NOT NULL, speaker text NOT NULL, untrusted text, text text NOT NULL, words tsvector NOT NULL);
CREATE INDEX search_docs_agent ON search_docs (agent) WHERE agent IS NOT NULL;
CREATE INDEX search_docs_file ON search_docs (file) WHERE file IS NOT NULL;
CREATE INDEX search_docs_words ON search_docs USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE INDEX IF NOT EXISTS changes_xid ON changes (xid);
CREATE OR REPLACE FUNCTION search_matching (query tsquery, most bigint) RETURNS SETOF bigint LANGUAGE sql STABLE SET enable_seqscan = off
AS 'SELECT n FROM search_docs WHERE words @@ query LIMIT most';
INSERT INTO search_meta (key, value) VALUES ('version', '${VERSION}')`;

/** Documents of one space: more than anyone writes. */
export const SPACE_SIZE = 2 ** 32;

/**
 * Neighbouring documents share a word that is no word, so that the index itself can be asked for the newest ones. It has no order: without
 * this, each match of a frequent word is read from the table to learn its number.
 */
const GROUP = 16_384;
const groupWord = (n: number): string => `¶${Math.floor((n % SPACE_SIZE) / GROUP)}`;

/** The groups with at least the newest `count` documents of a space; undefined if these are all. */
export function newestGroups({ no, next }: SpaceRow, count: number): string | undefined {
  if (count >= next) return undefined;
  const words: string[] = [];
  for (let group = Math.floor((next - count) / GROUP); group <= (next - 1) / GROUP; group++)
    words.push(`'${no}.¶${group}'`);
  return `(${words.join(" | ")})`;
}

export interface SpaceRow {
  readonly no: number;
  readonly next: number;
}

/** Creates the tables, one node at a time. */
export async function createSearchTables(connections: Connections): Promise<void> {
  await connections.use("read", async (client) => {
    await client.query("BEGIN");
    try {
      const lock = `rookery.search.${connections.options.schema}`;
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 3))", [lock]);
      const { rows } = await client.query("SELECT to_regclass('search_meta') IS NOT NULL AS there");
      const there = rows[0]?.there === true;
      const version = there
        ? (await client.query("SELECT value FROM search_meta WHERE key = 'version'")).rows[0]?.value
        : undefined;
      if (version !== VERSION) {
        for (const table of TABLES) await client.query(`DROP TABLE IF EXISTS ${table}`);
        await client.query(SCHEMA);
      }
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  });
}

export const emptySearchTables = (connections: Connections): Promise<unknown> =>
  connections.use("commit", (client) =>
    client.query("TRUNCATE search_docs, search_files, search_agents, search_spaces"),
  );

export const forgetInTables = (connections: Connections, traces: SearchTraces): Promise<void> =>
  connections.use("commit", async (client) => {
    const { rows } = await client.query("SELECT no, name FROM search_spaces");
    for (const { no, name } of rows as readonly { no: number; name: string }[]) {
      if (!isTraceOf(traces, name)) continue;
      const range = [Number(no) * SPACE_SIZE, (Number(no) + 1) * SPACE_SIZE - 1];
      await client.query("DELETE FROM search_docs WHERE n BETWEEN $1 AND $2", range);
      await client.query("DELETE FROM search_files WHERE space = $1", [no]);
      await client.query("DELETE FROM search_spaces WHERE no = $1", [no]);
    }
    await client.query("DELETE FROM search_docs WHERE agent = ANY ($1)", [traces.agents]);
    await client.query("DELETE FROM search_agents WHERE id = ANY ($1)", [traces.agents]);
  });

/** The number of a space; a new one if it has none. */
export async function spaceNumber(client: pg.ClientBase, name: Space): Promise<number> {
  await client.query("INSERT INTO search_spaces (name) VALUES ($1) ON CONFLICT DO NOTHING", [name]);
  const { rows } = await client.query("SELECT no FROM search_spaces WHERE name = $1", [name]);
  return Number(rows[0]?.no);
}

interface DocumentOrigin {
  readonly agent?: string;
  readonly file?: number;
}

/** Adds documents to the end of a space, which is locked until the transaction ends: larger numbers commit later. */
export async function addDocuments(
  client: pg.ClientBase,
  space: number,
  { agent, file }: DocumentOrigin,
  documents: readonly (NewDocument & { readonly pos?: number })[],
): Promise<void> {
  if (documents.length === 0) return;
  const moved = "UPDATE search_spaces SET next = next + $2 WHERE no = $1 RETURNING next";
  const { rows } = await client.query(moved, [space, documents.length]);
  const first = space * SPACE_SIZE + Number(rows[0]?.next) - documents.length;
  const columns = documents.map(({ text, at, speaker, untrusted, line, pos }, index) => ({
    n: first + index,
    agent,
    pos,
    file,
    line,
    at,
    speaker,
    untrusted: untrusted === undefined ? undefined : clean(untrusted),
    text: clean(text),
    words: vectorOf(space, [...indexedWords(clean(text), agent), groupWord(first + index)]),
  }));
  await client.query(
    `INSERT INTO search_docs (n, agent, pos, file, line, at, speaker, untrusted, text, words)
     SELECT n, agent, pos, file, line, at, speaker, untrusted, text, words::tsvector
     FROM json_to_recordset($1) AS d (n bigint, agent text, pos bigint, file bigint, line bigint, at bigint, speaker text, untrusted text, text text, words text)`,
    [JSON.stringify(columns)],
  );
}

const MAX_POSITION = 16_383;

/** The text form of a `tsvector`: each word with its places. Words have letters and digits only, so nothing needs escaping. */
function vectorOf(space: number, words: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const [index, word] of words.entries()) {
    const known = places.get(word);
    if (!known) places.set(word, [Math.min(index + 1, MAX_POSITION)]);
    else if (known.length < 64) known.push(Math.min(index + 1, MAX_POSITION));
  }
  return [...places].map(([word, at]) => `'${space}.${word}':${at.join(",")}`).join(" ");
}

/** The text form of a `tsquery` for a term in a space. */
export function queryOf({ words, prefix }: SearchTerm, space: number): string {
  const parts = words.map((word, at) => `'${space}.${word}'${prefix && at === words.length - 1 ? ":*" : ""}`);
  return `(${parts.join(" <-> ")})`;
}
