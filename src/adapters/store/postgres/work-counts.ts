/** Counts of open work, each from an index that holds open rows only. */
import type { StoreReader } from "../../../core/store/store.ts";
import type { WorkCounts } from "../../../core/store/work-counts.ts";
import type { Statement } from "./batched-reads.ts";
import type { Connections } from "./connections.ts";

const SELECT_COUNTS: Statement = {
  name: "select-work-counts",
  text: `SELECT
  (SELECT count(*) FROM agents WHERE busy) AS busy,
  (SELECT count(*) FROM deliveries WHERE state IN ('pending', 'sending'))
    + (SELECT count(*) FROM deliveries WHERE state IN ('waiting-reader', 'unroutable')) AS undelivered,
  (SELECT count(*) FROM messages
    WHERE state IN ('dropped', 'failed', 'aborted', 'discarded') AND state = 'failed' AND settled_at > $1) AS failed`,
};

const NONE: WorkCounts = { busy: 0, undelivered: 0, failed: 0 };

export const countReads = (connections: Connections): Pick<StoreReader, "workCounts"> => ({
  workCounts: async (since) => (await connections.one<WorkCounts>(SELECT_COUNTS, since)) ?? NONE,
});
