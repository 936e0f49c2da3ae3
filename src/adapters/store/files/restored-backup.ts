/**
 * Recognises a database that is older than its plain files: somebody restored a backup, or the log of its newest commits
 * was lost. Nobody knows then how far its unfinished work went, so that work is ended and told, once (M6).
 */
import type { ChangeId, Ids } from "../../../core/ids.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import type { Database } from "../sqlite/database.ts";
import { type LostWork, loseOpenWork } from "./lose-open-work.ts";
import { compareMark, readMark } from "./mark-file.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { sqliteSource } from "./sqlite-source.ts";

/** Remembers the mark for which it was done, because the mirror needs a while to write a new one. */
const DONE_FACT = "plain-files.restored-backup";

/** Undefined where the database is the one the files were written from. Call it before anything else is committed. */
export function afterRestoredBackup(
  db: Database,
  files: MirrorFiles,
  { ids, now }: { readonly ids: Ids; readonly now: number },
): LostWork | undefined {
  const mark = readMark(files);
  if (!mark || compareMark(sqliteSource(db.sql), mark) !== "other") return undefined;
  const value = `${mark.synced} ${mark.change}`;
  if (db.statement("select-fact").get(DONE_FACT)?.value === value) return undefined;
  const lost = loseOpenWork(db, { ids, now, why: "the database was restored from a backup" });
  const id: ChangeId = ids.change();
  const [result] = applyGroup(db, [
    { id, site: "store.restored-backup", at: now, ops: [{ op: "fact.put", key: DONE_FACT, value }] },
  ]);
  if (result instanceof Error) throw result;
  return lost;
}
