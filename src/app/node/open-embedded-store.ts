/**
 * Opens the store of a home: looked at before it is touched, rebuilt from the plain files where it is missing, refused
 * where it cannot be read (L11), and followed by the plain files from then on.
 */

import { diskFiles } from "../../adapters/store/files/disk-files.ts";
import type { LostWork } from "../../adapters/store/files/end-unfinished-work.ts";
import { rebuildNeeded, refuseUnreadable } from "../../adapters/store/files/inspect.ts";
import type { RebuildReport } from "../../adapters/store/files/rebuild.ts";
import { afterRestoredBackup } from "../../adapters/store/files/restored-backup.ts";
import { type MirrorHandle, startMirror } from "../../adapters/store/files/start-mirror.ts";
import { openSqliteStore } from "../../adapters/store/sqlite/open-store.ts";
import type { HomePaths } from "../../config/paths.ts";
import { StoreUnreadableError } from "../../core/errors.ts";
import type { Ids } from "../../core/ids.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Store } from "../../core/store/store.ts";

export interface EmbeddedStore {
  readonly store: Store;
  readonly mirror: MirrorHandle;
  /** Set where the database was missing and was built from the plain files. */
  readonly rebuilt: RebuildReport | undefined;
  /** Set where the database is older than its plain files (a restored backup): what was ended because of it. */
  readonly lost: LostWork | undefined;
  /** Complete plain files, then the database closed and the home free. */
  close(): Promise<void>;
}

export interface EmbeddedStoreOptions {
  readonly paths: HomePaths;
  readonly synchronous: "full" | "normal";
  readonly ids: Ids;
  readonly now: number;
  readonly log: Log;
  readonly onFatal: (error: unknown) => void;
  /** Whether the process stays: then the plain files may follow a moment later, and the start is not slowed down by them. */
  readonly stays?: boolean;
}

const FILES_AFTER_MS = 300;
const GONE = { hint: "Put it back, or start again: it is then rebuilt from the plain files." };

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { paths, synchronous, ids, now, log, onFatal, stays = false } = options;
  const { home } = paths;
  // Seldom needed, and no small part of the program: loaded where it is.
  const needed = rebuildNeeded(home, paths.database)
    ? await import("../../adapters/store/files/rebuild.ts")
    : undefined;
  let rebuilt: RebuildReport | undefined;
  let lost: LostWork | undefined;
  let mirror: MirrorHandle | undefined;
  const store = openSqliteStore({
    home,
    synchronous,
    onFatal,
    onCommitted: () => mirror?.nudge(),
    beforeOpen(databasePath) {
      refuseUnreadable(databasePath);
      if (!rebuildNeeded(home, databasePath)) return;
      if (!needed) throw new StoreUnreadableError(`${databasePath} went away while it was being opened.`, GONE);
      rebuilt = needed.rebuild({ home, databasePath, ids, now });
    },
    afterOpen(db) {
      lost = afterRestoredBackup(db, diskFiles(home), { ids, now });
    },
  });
  const following = startMirror({ home, databasePath: paths.database, log, beginAfterMs: stays ? FILES_AFTER_MS : 0 });
  mirror = following;
  following.nudge();
  return {
    store,
    mirror: following,
    rebuilt,
    lost,
    async close() {
      await following.stop().catch((error) => log.error("the plain files are not complete", { error: String(error) }));
      await store.close();
    },
  };
}
