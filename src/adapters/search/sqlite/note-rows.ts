/** The table `files`: notes that are in the index, each with the stamp of the content that is. */
import { notesSpace } from "../../../core/search/search-index.ts";
import type { NoteIndex } from "../follow-notes.ts";
import type { IndexFile } from "./index-file.ts";

const STAMPS = "SELECT path, stamp FROM files WHERE space = ?";
const SPACES = "SELECT name FROM spaces WHERE substr(name, 1, ?) = ? AND no IN (SELECT space FROM files)";
const FIND = "SELECT no FROM files WHERE space = ? AND path = ?";
const PUT = `INSERT INTO files (space, path, stamp) VALUES (?, ?, ?)
ON CONFLICT (space, path) DO UPDATE SET stamp = excluded.stamp`;
const REMOVE = "DELETE FROM files WHERE no = ?";
const ADD_SPACE = "INSERT OR IGNORE INTO spaces (name, next) VALUES (?, 0)";

export function sqliteNotes(index: IndexFile): NoteIndex {
  const { db } = index;
  const fileNo = (space: number, path: string): number | undefined => db.get<{ no: number }>(FIND, space, path)?.no;
  return {
    async stamps(directory) {
      const space = index.space(notesSpace(directory));
      const rows = space ? db.all<{ path: string; stamp: string }>(STAMPS, space.no) : [];
      return new Map(rows.map(({ path, stamp }) => [path, stamp]));
    },
    async directories() {
      const prefix = notesSpace("");
      const rows = db.all<{ name: string }>(SPACES, prefix.length, prefix);
      return rows.map(({ name }) => name.slice(prefix.length));
    },
    async replace(directory, { path, stamp }, documents) {
      index.transaction(() => {
        const name = notesSpace(directory);
        db.run(ADD_SPACE, name);
        const space = index.space(name)?.no ?? 0;
        const before = fileNo(space, path);
        if (before !== undefined) index.removeWhere("file", before);
        db.run(PUT, space, path, stamp);
        index.add(name, { file: fileNo(space, path) }, documents);
      });
    },
    async remove(directory, path) {
      const space = index.space(notesSpace(directory));
      const no = space && fileNo(space.no, path);
      if (no === undefined) return;
      index.transaction(() => {
        index.removeWhere("file", no);
        db.run(REMOVE, no);
      });
    },
  };
}
