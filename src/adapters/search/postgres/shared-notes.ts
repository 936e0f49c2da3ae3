/** The notes of a shared store: files that the node which searches can read, each with the stamp of the content that is indexed. */
import { notesSpace } from "../../../core/search/search-index.ts";
import type { PostgresStore } from "../../store/postgres/open-store.ts";
import type { NoteIndex } from "../follow-notes.ts";
import { inTransaction } from "./follow-shared.ts";
import { addDocuments, spaceNumber } from "./search-tables.ts";

const PUT = `INSERT INTO search_files (space, path, stamp) VALUES ($1, $2, $3)
ON CONFLICT (space, path) DO UPDATE SET stamp = excluded.stamp RETURNING no`;

export const sharedNotes = (store: PostgresStore): NoteIndex => ({
  stamps: (directory) =>
    inTransaction(store, async (client) => {
      const select = "SELECT path, stamp FROM search_files WHERE space = $1";
      const { rows } = await client.query(select, [await spaceNumber(client, notesSpace(directory))]);
      return new Map(rows.map(({ path, stamp }: { path: string; stamp: string }) => [path, stamp]));
    }),
  replace: (directory, { path, stamp }, documents) =>
    inTransaction(store, async (client) => {
      const space = await spaceNumber(client, notesSpace(directory));
      const file = Number((await client.query(PUT, [space, path, stamp])).rows[0]?.no);
      await client.query("DELETE FROM search_docs WHERE file = $1", [file]);
      await addDocuments(client, space, { file }, documents);
    }),
  remove: (directory, path) =>
    inTransaction(store, async (client) => {
      const space = await spaceNumber(client, notesSpace(directory));
      const find = "DELETE FROM search_files WHERE space = $1 AND path = $2 RETURNING no";
      const { rows } = await client.query(find, [space, path]);
      if (rows[0]) await client.query("DELETE FROM search_docs WHERE file = $1", [rows[0].no]);
    }),
});
