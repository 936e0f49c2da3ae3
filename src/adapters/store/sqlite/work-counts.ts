/** Counts of open work, each from an index that holds open rows only. */
import type { StoreReader } from "../../../core/store/store.ts";
import type { WorkCounts } from "../../../core/store/work-counts.ts";
import type { Database } from "./database.ts";

const SELECT_COUNTS = `SELECT
  (SELECT count(*) FROM agents WHERE waiting > 0 OR (run_id IS NOT NULL AND suspended = 0)) AS busy,
  (SELECT count(*) FROM deliveries WHERE state IN ('pending', 'sending'))
    + (SELECT count(*) FROM deliveries WHERE state IN ('waiting-reader', 'unroutable')) AS undelivered,
  (SELECT count(*) FROM messages
    WHERE state IN ('dropped', 'failed', 'aborted', 'discarded') AND state = 'failed' AND settled_at > ?) AS failed`;

export const countReads = (db: Database): Pick<StoreReader, "workCounts"> => ({
  workCounts: async (since) => ({ ...db.get<WorkCounts>(SELECT_COUNTS, since) }) as WorkCounts,
});
