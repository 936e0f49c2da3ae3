/** The mirror's reads on SQLite. The connection is read-only, so that no fault here can damage the database. */
import type { DatabaseSync } from "node:sqlite";
import { dedupeKey, type Source } from "../../../core/message/message.ts";
import type { LineRow } from "../rows.ts";
import { openApprovalRows } from "../sqlite/approvals.ts";
import { changeLog } from "../sqlite/change-log.ts";
import { databaseOf } from "../sqlite/database.ts";
import { allJobs, readJob, slotText } from "../sqlite/jobs.ts";
import { allSubagentRuns } from "../sqlite/subagent-runs.ts";
import { firstSwarms } from "../sqlite/swarms.ts";
import { budgetsIn } from "./budgets-file.ts";
import type {
  AgentRow,
  DedupeRow,
  DeliveryRow,
  LoggedChange,
  MessageRow,
  MirrorSource,
  RunRow,
} from "./mirror-source.ts";
import { peopleIn } from "./people-file.ts";
import { storedFilesIn } from "./stored-files-file.ts";

const SELECT_CHANGES_AFTER = "SELECT n, at, touched FROM changes WHERE n > ? ORDER BY n LIMIT ?";
const SELECT_AGENTS_AFTER = "SELECT no FROM agents WHERE no > ? ORDER BY no LIMIT ?";
const SELECT_AGENT_NUMBER = "SELECT no FROM agents WHERE id = ?";
const SELECT_AGENT = `SELECT no, id, session_key, profile, person, descriptor, created_at, session_id, next_seq, cursor, next_pos, leaf, run_id, last_human_at, stopped,
  state
FROM agents WHERE no = ?`;
const SELECT_LINES = "SELECT pos, line FROM entries WHERE agent = ? AND pos >= ? ORDER BY pos LIMIT ?";
const SELECT_OPEN_RUN =
  "SELECT id, session_id, attempt, step, started_at, abort, body FROM runs WHERE id = ? AND state = 'open'";
const SELECT_UNSETTLED =
  "SELECT seq, state, run_id, message FROM messages WHERE agent = ? AND seq >= ? AND state IN ('waiting', 'taken') ORDER BY seq";
const SELECT_SOURCES =
  "SELECT seq, json_extract(message, '$.source') AS source, json_extract(message, '$.key') AS own FROM messages WHERE agent = ? AND seq > ? ORDER BY seq DESC LIMIT ?";
/** The key of a message, or of the HTTP request that posted it. */
const SELECT_DEDUPE = `SELECT seq, keep_until FROM dedupe WHERE key = ?1 AND agent = ?2
UNION ALL SELECT seq, keep_until FROM requests WHERE key = ?1 AND agent = ?2`;
const SELECT_FIRST_OPEN_DELIVERY = `SELECT min(n) AS n FROM (
  SELECT * FROM (SELECT n FROM deliveries INDEXED BY deliveries_open WHERE state IN ('pending', 'sending') ORDER BY n LIMIT 1)
  UNION ALL
  SELECT * FROM (SELECT n FROM deliveries INDEXED BY deliveries_waiting
    WHERE state IN ('waiting-reader', 'unroutable') ORDER BY n LIMIT 1))`;
const SELECT_OPEN_DELIVERIES = `SELECT id, run_id, state, attempts, next_at, created_at, reason, target, payload
FROM deliveries INDEXED BY deliveries_agent
WHERE agent = ? AND n >= ? AND state IN ('pending', 'sending', 'waiting-reader', 'unroutable') ORDER BY n`;
const SELECT_NEWEST_SLOTS = "SELECT row FROM (SELECT n, row FROM job_slots ORDER BY n DESC LIMIT ?) ORDER BY n";

const MAX_SWARMS = 100_000;

export function sqliteSource(sql: DatabaseSync): MirrorSource {
  const db = databaseOf(sql);
  const dedupeRow = (no: number, key: string): DedupeRow | undefined => {
    const row = db.get<{ seq: number; keep_until: number }>(SELECT_DEDUPE, key, no);
    return row && [key, row.seq, row.keep_until];
  };

  return {
    ...changeLog(db),
    changesAfter: (n, limit) => db.all<LoggedChange>(SELECT_CHANGES_AFTER, n, limit),
    agentsAfter: (no, limit) => db.all<{ no: number }>(SELECT_AGENTS_AFTER, no, limit).map((row) => row.no),
    knowsAgent: (id) => db.get(SELECT_AGENT_NUMBER, id) !== undefined,
    consistently(read) {
      sql.exec("BEGIN");
      try {
        return read();
      } finally {
        sql.exec("COMMIT");
      }
    },
    agent: (no) => db.get<AgentRow>(SELECT_AGENT, no),
    lines: (no, from, limit) => db.all<LineRow>(SELECT_LINES, no, from, limit),
    openRun: (runId) => db.get<RunRow>(SELECT_OPEN_RUN, runId),
    unsettled: (no, fromSeq) => db.all<MessageRow>(SELECT_UNSETTLED, no, fromSeq),
    dedupeKeys(no, afterSeq, limit) {
      const rows = db.all<{ source: string | null; own: string | null }>(SELECT_SOURCES, no, afterSeq, limit).reverse();
      return rows.flatMap(({ source, own }) => {
        const from = source === null ? undefined : (JSON.parse(source) as Source);
        const key = dedupeKey({ source: from, key: own ?? undefined });
        const row = key === undefined ? undefined : dedupeRow(no, key);
        return row ? [row] : [];
      });
    },
    dedupeKey: dedupeRow,
    openDeliveries(no) {
      const first = db.get<{ n: number | null }>(SELECT_FIRST_OPEN_DELIVERY)?.n ?? undefined;
      return first === undefined ? [] : db.all<DeliveryRow>(SELECT_OPEN_DELIVERIES, no, first);
    },
    openApprovals: (agentId) => openApprovalRows(db, agentId),
    subagentRuns: () => allSubagentRuns(db),
    budgets: () => budgetsIn(db),
    swarms: () => firstSwarms(db, MAX_SWARMS),
    people: () => peopleIn(db),
    storedFiles: () => storedFilesIn(db),
    jobs: () => allJobs(db),
    slot: (jobId, slot) => slotText(db, jobId, slot),
    newestSlots: (limit) => db.all<{ row: string }>(SELECT_NEWEST_SLOTS, limit).map(({ row }) => row),
    job: (id) => readJob(db, id),
  };
}
