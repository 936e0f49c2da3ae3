/**
 * Opens the embedded store of a home. It refuses a database it cannot read (L11), rebuilds a missing one from the plain
 * files, and keeps the plain files up to date from then on.
 */

import type { HomePaths } from "../../config/paths.ts";
import { errorText, StoreUnreadableError } from "../../core/errors.ts";
import type { Ids } from "../../core/ids.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";
import { diskFiles } from "./files/disk-files.ts";
import type { LostWork } from "./files/end-unfinished-work.ts";
import { rebuildNeeded, refuseUnreadable } from "./files/inspect.ts";
import { logRebuild } from "./files/log-rebuild.ts";
import { compareMark, readMark } from "./files/mark-file.ts";
import type { RebuildReport } from "./files/rebuild.ts";
import { type MirrorHandle, startMirror } from "./files/start-mirror.ts";
import { changeLog } from "./sqlite/change-log.ts";
import type { Database } from "./sqlite/database.ts";
import { openSqliteStore } from "./sqlite/open-store.ts";

export interface EmbeddedStore {
  readonly store: Store;
  readonly mirror: MirrorHandle;
  /** Set if the database was missing and was rebuilt from the plain files. */
  readonly rebuilt: RebuildReport | undefined;
  /** Set if the database is older than its plain files (a restored backup): the work that was ended because of it. */
  readonly lost: LostWork | undefined;
  /** Completes the plain files, closes the database and releases the home. */
  close(): Promise<void>;
}

interface EmbeddedStoreOptions {
  readonly paths: HomePaths;
  readonly synchronous: "full" | "normal";
  /** The size of a history, in MB, above which its older lines move to another plain file. */
  readonly archiveAboveMb?: number;
  readonly ids: Ids;
  readonly now: number;
  readonly log: Log;
  readonly onFatal: (error: unknown) => void;
  /** True for a process that keeps running. */
  readonly stays?: boolean;
  /** Called after every commit. */
  readonly onCommitted?: () => void;
}

/** The plain files start later than the engine: one that stays is not slowed down, and a short command needs no thread. */
const FILES_DELAY_MS = { stays: 300, ends: 1_000 };
const DISAPPEARED = { hint: "Put the file back, or start again to rebuild it from the plain files." };

/** `start` starts the thread of the plain files; tests start another. */
export async function openEmbeddedStore(options: EmbeddedStoreOptions, start = startMirror): Promise<EmbeddedStore> {
  const { paths, synchronous, archiveAboveMb, ids, now, log, onFatal, stays } = options;
  const { home } = paths;
  // A large module that is rarely needed.
  const needed = rebuildNeeded(home, paths.database) ? await import("./files/rebuild.ts") : undefined;
  let rebuilt: RebuildReport | undefined;
  let lost: LostWork | undefined;
  let mirror: MirrorHandle | undefined;
  /** Set if its plain files were written from another state of it. */
  let other: Database | undefined;
  const store = openSqliteStore({
    home,
    synchronous,
    onFatal,
    onLost: (error) => log.error(errorText(error), { home }),
    onFull: (error) => log.error(errorText(error), { home }),
    onRoom: () => log.info("There is room on the disk again; work continues.", { home }),
    onFound: () => log.info("The files of the home are back; work continues.", { home }),
    onCommitted() {
      mirror?.nudge();
      options.onCommitted?.();
    },
    beforeOpen(databasePath) {
      refuseUnreadable(databasePath);
      if (!rebuildNeeded(home, databasePath)) return;
      if (!needed)
        throw new StoreUnreadableError(`${databasePath} disappeared while it was being opened.`, DISAPPEARED);
      rebuilt = needed.rebuild({ home, databasePath, ids, now });
      logRebuild(log, rebuilt);
    },
    afterOpen(db) {
      const mark = readMark(diskFiles(home));
      if (mark && compareMark(changeLog(db), mark) === "other") other = db;
    },
  });
  if (other) {
    try {
      const { afterRestoredBackup } = await import("./files/restored-backup.ts");
      lost = afterRestoredBackup(other, diskFiles(home), { ids, now });
    } catch (error) {
      await store.close();
      throw error;
    }
  }
  const beginAfterMs = stays ? FILES_DELAY_MS.stays : FILES_DELAY_MS.ends;
  const { identity } = store;
  const started = start({
    ...{ home, databasePath: paths.database, log, beginAfterMs, identity },
    archiveAbove: archiveAboveMb && archiveAboveMb << 20,
  });
  mirror = started;
  started.nudge();
  return {
    store,
    mirror: started,
    rebuilt,
    lost,
    async close() {
      await started.stop().catch((error) => log.error("could not complete the plain files", { error: String(error) }));
      await store.close();
    },
  };
}
