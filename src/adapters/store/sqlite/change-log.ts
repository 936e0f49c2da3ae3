/** Reads of the table `changes`: which changes it has, and the id of one. */
import type { Database } from "./database.ts";

const SELECT_BOUNDS = "SELECT (SELECT min(n) FROM changes) AS first, (SELECT max(n) FROM changes) AS last";
const SELECT_ID = "SELECT id FROM changes WHERE n = ?";

export interface ChangeLog {
  /** Zeros: there are none. */
  bounds(): { readonly first: number; readonly last: number };
  changeId(n: number): string | undefined;
}

export const changeLog = (db: Database): ChangeLog => ({
  bounds() {
    const row = db.get<{ first: number | null; last: number | null }>(SELECT_BOUNDS);
    return { first: row?.first ?? 0, last: row?.last ?? 0 };
  },
  changeId: (n) => db.get<{ id: string }>(SELECT_ID, n)?.id,
});
