/** The index of a home in one thread: follows the store and the notes, searches, and builds itself again if it must. */
import { DatabaseSync } from "node:sqlite";
import {
  notesSpace,
  personSpace,
  type SearchHit,
  type SearchRequest,
  type SearchState,
  type SearchTraces,
  spacesPrefix,
} from "../../../core/search/search-index.ts";
import { sqliteSource } from "../../store/files/sqlite-source.ts";
import { findDocuments } from "../find-documents.ts";
import { type NoteFollower, noteFollower } from "../follow-notes.ts";
import { OtherDatabase, type StoreFollower, storeFollower } from "./follow-store.ts";
import { type IndexFile, openIndexFile, removeIndexFile } from "./index-file.ts";
import { sqliteNotes } from "./note-rows.ts";
import { readAhead } from "./read-ahead.ts";

export interface HomeIndexOptions {
  readonly databasePath: string;
  readonly indexPath: string;
  /** Whether to read the whole index once, so that the system has it in memory. */
  readonly readsAhead?: boolean;
  readonly now?: () => number;
}

export interface HomeIndex {
  /** Does one portion of work; true if there is more. */
  step(): boolean;
  search(request: SearchRequest): Promise<readonly SearchHit[]>;
  rebuild(): void;
  forget(traces: SearchTraces): void;
  state(): SearchState;
  close(): void;
}

interface Open {
  readonly index: IndexFile;
  readonly follower: StoreFollower;
  readonly notes: NoteFollower;
}

const isList = (people: SearchRequest["people"]): people is readonly string[] => Array.isArray(people);

/** A search waits this long for changes that are not in the index yet. */
const CATCH_UP_MS = 1_500;

export function homeIndex({ databasePath, indexPath, readsAhead = true, now = Date.now }: HomeIndexOptions): HomeIndex {
  const sql = new DatabaseSync(databasePath, { readOnly: true, timeout: 5_000 });
  const source = sqliteSource(sql);
  const open = (): Open => {
    const index = openIndexFile(indexPath);
    try {
      return { index, follower: storeFollower(index, source), notes: noteFollower(sqliteNotes(index), now) };
    } catch (error) {
      index.close();
      throw error;
    }
  };
  const openOrBuild = (): Open => {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof OtherDatabase)) throw error;
      removeIndexFile(indexPath);
      return open();
    }
  };
  let at = openOrBuild();
  const ahead = readsAhead ? readAhead(indexPath) : { step: () => false };
  const caughtUp = (): void => {
    const until = now() + CATCH_UP_MS;
    while (at.follower.step().more && now() < until);
  };
  return {
    step: () => at.follower.step().more || ahead.step(),
    async search({ query, people, notes, agentId, limit }) {
      caughtUp();
      for (const directory of notes) await at.notes.follow(directory);
      const spaces = isList(people) ? people.map(personSpace) : at.index.spacesBeginning(spacesPrefix(people));
      const all = agentId === undefined ? [...spaces, ...notes.map(notesSpace)] : spaces;
      return findDocuments(at.index.inSpaces(all, agentId), query, { limit, now: now() });
    },
    rebuild() {
      at.index.close();
      removeIndexFile(indexPath);
      at = openOrBuild();
      while (at.follower.step().more);
    },
    forget(traces) {
      at.index.forget(traces);
      // Notes in memory may belong to a directory that is gone.
      at = { ...at, notes: noteFollower(sqliteNotes(at.index), now) };
    },
    state: () => ({ documents: at.index.documents(), behind: at.follower.behind() }),
    close() {
      at.index.close();
      sql.close();
    },
  };
}
