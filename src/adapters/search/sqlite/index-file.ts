/**
 * The search index of a home: a SQLite file of its own (M35). A document's number holds its space and its place in it, so a search in
 * some spaces is a search in ranges of numbers, and texts of other people are never touched. The file can be deleted at any time.
 */
import { chmodSync, rmSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { InvariantError } from "../../../core/errors.ts";
import type { SearchTerm } from "../../../core/search/parse-query.ts";
import { isTraceOf, type SearchTraces, type Space } from "../../../core/search/search-index.ts";
import { type Database, databaseOf } from "../../store/sqlite/database.ts";
import { agentWord, indexedWords, type NewDocument } from "../documents-of.ts";
import type { DocumentIndex, DocumentNumber, StoredDocument } from "../find-documents.ts";
import { SCHEMA, VERSION } from "./index-schema.ts";

/** Documents of one space: more than anyone writes. */
const SPACE_SIZE = 2 ** 32;
/** Words that are all frequent are looked for in the newest documents of a space. */
const WINDOW = 100_000;

const GET_META = "SELECT value FROM meta WHERE key = ?";
const PUT_META = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const GET_SPACE = "SELECT no, next FROM spaces WHERE name = ?";
const BEGINNING = "SELECT name FROM spaces WHERE substr(name, 1, ?) = ?";
const ADD_SPACE = "INSERT INTO spaces (name, next) VALUES (?, 0)";
const MOVE_SPACE = "UPDATE spaces SET next = ? WHERE no = ?";
const ADD_DOC =
  "INSERT INTO docs (n, agent, pos, file, line, at, speaker, untrusted, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
const ADD_WORDS = "INSERT INTO words (rowid, body) VALUES (?, ?)";
const MATCH = "SELECT rowid AS n FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?";
const READ = `SELECT d.n, d.text, d.at, d.speaker, a.id AS agentId, a.session_key AS sessionKey, d.pos AS position,
  CASE WHEN d.file IS NULL THEN NULL ELSE substr(s.name, 7) END AS directory, f.path, d.line, d.untrusted
FROM docs d LEFT JOIN agents a ON a.no = d.agent LEFT JOIN files f ON f.no = d.file LEFT JOIN spaces s ON s.no = f.space
WHERE d.n = ?`;

interface SpaceRow {
  readonly no: number;
  readonly next: number;
}

export interface IndexFile {
  readonly db: Database;
  meta(key: string): string | undefined;
  putMeta(key: string, value: string): void;
  space(name: Space): SpaceRow | undefined;
  spacesBeginning(prefix: string): readonly Space[];
  /** Adds the documents of one agent or one file to the end of a space. */
  add(name: Space, from: DocumentOrigin, documents: readonly PlacedDocument[]): void;
  removeWhere(column: "agent" | "file", no: number): void;
  /** Removes spaces and agents with their documents, and writes the file anew. */
  forget(traces: SearchTraces): void;
  documents(): number;
  inSpaces(names: readonly Space[], agentId?: string): DocumentIndex;
  transaction(act: () => void): void;
  close(): void;
}

interface DocumentOrigin {
  readonly agent?: { readonly no: number; readonly id: string };
  readonly file?: number;
}
export type PlacedDocument = NewDocument & { readonly pos?: number };

/** Throws if the disk refuses the file. A file that cannot be read as an index is replaced. */
export function openIndexFile(path: string): IndexFile {
  try {
    return opened(path);
  } catch {
    removeIndexFile(path);
    return opened(path);
  }
}

export function removeIndexFile(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
}

function opened(path: string): IndexFile {
  const sql = new DatabaseSync(path, { timeout: 5_000 });
  try {
    if (path !== ":memory:") chmodSync(path, 0o600);
    sql.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32000");
    sql.exec("PRAGMA journal_size_limit = 16777216; PRAGMA temp_store = MEMORY");
    const version = Number(sql.prepare("PRAGMA user_version").get()?.user_version ?? 0);
    if (version === 0) sql.exec(SCHEMA);
    else if (version !== VERSION) throw new InvariantError(`The index has version ${version}.`);
    return indexFile(sql);
  } catch (error) {
    sql.close();
    throw error;
  }
}

function indexFile(sql: DatabaseSync): IndexFile {
  const db = databaseOf(sql);
  const space = (name: Space): SpaceRow | undefined => db.get<SpaceRow>(GET_SPACE, name);
  const removeWhere = (column: "agent" | "file", no: number): void => {
    sql.prepare(`DELETE FROM words WHERE rowid IN (SELECT n FROM docs WHERE ${column} = ?)`).run(no);
    sql.prepare(`DELETE FROM docs WHERE ${column} = ?`).run(no);
  };
  return {
    db,
    meta: (key) => db.get<{ value: string }>(GET_META, key)?.value,
    putMeta: (key, value) => void db.run(PUT_META, key, value),
    space,
    spacesBeginning: (prefix) =>
      db.all<{ name: string }>(BEGINNING, [...prefix].length, prefix).map(({ name }) => name),
    add(name, { agent, file }, documents) {
      if (documents.length === 0) return;
      const { no, next } = space(name) ?? { no: Number(db.run(ADD_SPACE, name).lastInsertRowid), next: 0 };
      let n = no * SPACE_SIZE + next;
      for (const { text, at, speaker, untrusted, line, pos } of documents) {
        const row: SQLInputValue[] = [BigInt(n), agent?.no ?? null, pos ?? null, file ?? null, line ?? null];
        db.run(ADD_DOC, ...row, at, speaker, untrusted ?? null, text);
        db.run(ADD_WORDS, BigInt(n), indexedWords(text, agent?.id).join(" "));
        n++;
      }
      db.run(MOVE_SPACE, n - no * SPACE_SIZE, no);
    },
    removeWhere,
    forget(traces) {
      for (const found of db.all<{ no: number; name: string }>("SELECT no, name FROM spaces")) {
        if (!isTraceOf(traces, found.name)) continue;
        const range = [BigInt(found.no * SPACE_SIZE), BigInt((found.no + 1) * SPACE_SIZE - 1)];
        db.run("DELETE FROM words WHERE rowid BETWEEN ? AND ?", ...range);
        db.run("DELETE FROM docs WHERE n BETWEEN ? AND ?", ...range);
        db.run("DELETE FROM files WHERE space = ?", found.no);
        db.run("DELETE FROM spaces WHERE no = ?", found.no);
      }
      // What they said may be in the space of a person they belonged to before.
      for (const id of traces.agents) {
        const no = db.get<{ no: number }>("SELECT no FROM agents WHERE id = ?", id)?.no;
        if (no === undefined) continue;
        removeWhere("agent", no);
        db.run("DELETE FROM agents WHERE no = ?", no);
      }
      // Deleted words stay in older parts of the word list until all parts are merged.
      sql.exec("INSERT INTO words (words) VALUES ('optimize')");
      sql.exec("VACUUM");
      sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    },
    documents: () => db.get<{ count: number }>("SELECT coalesce(sum(next), 0) AS count FROM spaces")?.count ?? 0,
    inSpaces: (names, agentId) =>
      inSpaces(
        db,
        names.flatMap((name) => space(name) ?? []),
        agentId,
      ),
    transaction(act) {
      sql.exec("BEGIN IMMEDIATE");
      try {
        act();
        sql.exec("COMMIT");
      } catch (error) {
        sql.exec("ROLLBACK");
        throw error;
      }
    },
    close: () => db.close(),
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly windowFrom: number;
}

const expressionOf = ({ words, prefix }: SearchTerm): string => `"${words.join(" ")}"${prefix ? " *" : ""}`;

function inSpaces(db: Database, spaces: readonly SpaceRow[], agentId: string | undefined): DocumentIndex {
  const ranges = spaces.map(({ no, next }): Range => {
    const from = no * SPACE_SIZE;
    return { from, to: from + next - 1, windowFrom: from + Math.max(0, next - WINDOW) };
  });
  const filter = agentId === undefined ? "" : `"${agentWord(agentId)}" AND `;
  const match = (expression: string, limit: number, windowed = false): DocumentNumber[] => {
    const text = `${filter}(${expression})`;
    return ranges.flatMap(({ from, to, windowFrom }) => {
      // FTS5 ignores a limit of numbers that is not bound as an integer.
      const limits = [BigInt(windowed ? windowFrom : from), BigInt(to)];
      return db
        .all<{ n: number }>(MATCH, text, ...limits, limit)
        .map(({ n }) => n)
        .filter((n) => n >= from && n <= to);
    });
  };
  const isFrequent = (word: string): boolean => match(`"${word}"`, FREQUENT).length >= FREQUENT;
  const total = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return {
    total: async () => total,
    newest: async (terms, limit) =>
      terms.map((term) => {
        const windowed = term.words.length > 1 && term.words.every(isFrequent);
        const documents = match(expressionOf(term), limit, windowed);
        const complete = documents.length < limit;
        return { documents, complete, containing: complete ? documents.length : estimate(documents, ranges, total) };
      }),
    withAny: async (rare, term, limit) =>
      match(`(${rare.map(expressionOf).join(" OR ")}) AND ${expressionOf(term)}`, limit),
    withAll: async (terms, limit) => match(terms.map(expressionOf).join(" AND "), limit, true),
    read: async (numbers) => numbers.flatMap((n) => db.get<StoredDocument>(READ, BigInt(n)) ?? []),
  };
}

const FREQUENT = 1_500;

/** As dense as among the newest documents that were looked at. */
function estimate(documents: readonly DocumentNumber[], ranges: readonly Range[], total: number): number {
  let seen = 0;
  for (const { from, to } of ranges) {
    const inside = documents.filter((n) => n >= from && n <= to);
    const oldest = inside.at(-1);
    if (oldest !== undefined) seen += to - oldest + 1;
  }
  return seen === 0 ? documents.length : Math.max(documents.length, Math.round((documents.length * total) / seen));
}
