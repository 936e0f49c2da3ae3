/**
 * Recognises a database that is older than its plain files: a backup was restored, or the log of its newest commits was
 * lost. How far its unfinished work went is unknown then, so that work is ended and reported, once (M6).
 */
import type { ChangeId, Ids } from "../../../core/ids.ts";
import { applyGroup } from "../sqlite/apply-change.ts";
import { changeLog } from "../sqlite/change-log.ts";
import type { Database } from "../sqlite/database.ts";
import { readFact } from "../sqlite/facts.ts";
import { endUnfinishedWork, type LostWork } from "./end-unfinished-work.ts";
import { compareMark, readMark } from "./mark-file.ts";
import type { MirrorFiles } from "./mirror-files.ts";
import { forgetOldPeople } from "./people-file.ts";

/** Holds the mark this was done for, because the mirror needs a while to write a new one. */
const DONE_FACT = "plain-files.restored-backup";

/** Undefined if the files were written from this database. Call it before anything else is committed. */
export function afterRestoredBackup(
  db: Database,
  files: MirrorFiles,
  { ids, now }: { readonly ids: Ids; readonly now: number },
): LostWork | undefined {
  const mark = readMark(files);
  if (!mark || compareMark(changeLog(db), mark) !== "other") return undefined;
  const value = `${mark.synced} ${mark.change}`;
  if (readFact(db, DONE_FACT) === value) return undefined;
  const lost = endUnfinishedWork(db, { ids, now, why: "the database was restored from a backup" });
  const strangers = forgetOldPeople(db, files, now);
  const id: ChangeId = ids.change();
  const [result] = applyGroup(db, [
    { id, site: "store.restored-backup", at: now, ops: [{ op: "fact.put", key: DONE_FACT, value }] },
  ]);
  if (result instanceof Error) throw result;
  return strangers > 0 ? { ...lost, people: strangers } : lost;
}
