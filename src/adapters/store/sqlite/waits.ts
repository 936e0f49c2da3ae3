/**
 * The table `waits`: which agent's run waits for which agent. One writer applies changes one after the other, so no two
 * waits can close a cycle together (M11).
 */
import type { AgentId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type WaitRow, waitOf } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT_FROM = `SELECT waits.id, waits.waiter, waits.awaited, waits.run_id, waits.since
FROM waits JOIN runs ON runs.id = waits.run_id AND runs.state = 'open'`;
const SELECT_PAGE = `${SELECT_FROM}
WHERE waits.id > ? ORDER BY waits.id LIMIT ?`;
const SELECT_OF_WAITER = `${SELECT_FROM}
WHERE waits.waiter = ? AND waits.id > ? ORDER BY waits.id LIMIT ?`;
const CLOSES_CIRCLE = `WITH RECURSIVE reached (agent) AS (
  SELECT ?
  UNION
  SELECT waits.awaited
  FROM reached JOIN waits ON waits.waiter = reached.agent JOIN runs ON runs.id = waits.run_id AND runs.state = 'open'
)
SELECT 1 FROM reached WHERE agent = ? LIMIT 1`;
const PUT = `INSERT INTO waits (id, waiter, awaited, run_id, since) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET waiter = excluded.waiter, awaited = excluded.awaited, run_id = excluded.run_id`;
const REMOVE = "DELETE FROM waits WHERE id = ?";
const REMOVE_OF_WAITER = "DELETE FROM waits WHERE waiter = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export const waitReads = (db: Database): Pick<StoreReader, "waits"> => ({
  waits: async ({ from, after = "", limit }) => {
    const rows =
      from === undefined
        ? db.all<WaitRow>(SELECT_PAGE, after, limit)
        : db.all<WaitRow>(SELECT_OF_WAITER, from, after, limit);
    return rows.map(waitOf);
  },
});

export function removeWaitsOf(db: Database, waiter: AgentId): void {
  db.run(REMOVE_OF_WAITER, waiter);
}

/** Refused if the awaited agent waits, directly or through others, for the waiter, or is the waiter itself. */
export function beginWait({ db, agents, change }: Applying, { id, from, to, runId }: OpOf<"wait.begin">): undefined {
  const awaited = "agentId" in to ? agents.find(to.agentId) : agents.byKey(to.sessionKey);
  if (!awaited) {
    throw new RefusedChange("missing", `There is no agent ${"agentId" in to ? to.agentId : to.sessionKey}.`);
  }
  if (db.get(CLOSES_CIRCLE, awaited.id, from)) {
    throw new RefusedChange("cycle", `Agent ${from} cannot wait for ${awaited.id}: ${awaited.id} is waiting for it.`);
  }
  db.run(PUT, id, from, awaited.id, runId, change.at);
}

export function endWait({ db }: Applying, { id }: OpOf<"wait.end">): undefined {
  db.run(REMOVE, id);
}
