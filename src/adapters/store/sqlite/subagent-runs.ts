/** The table `subagent_runs`: records of spawned children. A record ends once; a second end is refused (L6). */
import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreReader, SubagentRunFilter } from "../../../core/store/store.ts";
import { readable, storedJson } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT = "SELECT record FROM subagent_runs WHERE run_id = ?";
const SELECT_ALL = "SELECT record FROM subagent_runs ORDER BY run_id";
const SELECT_OF_REQUESTER = "SELECT record FROM subagent_runs WHERE requester = ? ORDER BY run_id";
const SELECT_OPEN = "SELECT record FROM subagent_runs WHERE ended = 0 ORDER BY run_id";
const SELECT_DUE = "SELECT record FROM subagent_runs WHERE due_at <= ? ORDER BY due_at, run_id LIMIT ?";
const COUNT_OPEN = "SELECT count(*) AS open FROM subagent_runs WHERE requester = ? AND ended = 0";
const SELECT_ENDED = "SELECT ended FROM subagent_runs WHERE run_id = ?";
const PUT = `INSERT INTO subagent_runs (run_id, requester, record, ended, due_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET requester = excluded.requester, record = excluded.record, ended = excluded.ended,
  due_at = excluded.due_at`;
const REMOVE = "DELETE FROM subagent_runs WHERE run_id = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): SubagentRunRecord => storedJson(record);

export const subagentRunReads = (
  db: Database,
): Pick<StoreReader, "openSubagentRuns" | "subagentRun" | "subagentRuns"> => ({
  subagentRun: async (runId) => {
    const row = db.get<RecordRow>(SELECT, runId);
    return row && recordOf(row);
  },
  subagentRuns: async (filter) => readable(rowsOf(db, filter), recordOf),
  openSubagentRuns: async (requesterSessionKey) => db.get<{ open: number }>(COUNT_OPEN, requesterSessionKey)?.open ?? 0,
});

function rowsOf(db: Database, filter?: SubagentRunFilter): RecordRow[] {
  if (!filter) return db.all(SELECT_ALL);
  if ("requesterSessionKey" in filter) return db.all(SELECT_OF_REQUESTER, filter.requesterSessionKey);
  if ("open" in filter) return db.all(SELECT_OPEN);
  return db.all(SELECT_DUE, filter.dueBy, filter.limit);
}

/** Throws `CorruptDataError` if one cannot be parsed. */
export const allSubagentRuns = (db: Database): SubagentRunRecord[] => db.all<RecordRow>(SELECT_ALL).map(recordOf);

export function putSubagentRun({ db, touched }: Applying, { record, expect }: OpOf<"subagent.put">): undefined {
  if (expect) {
    const row = db.get<{ ended: number }>(SELECT_ENDED, record.runId);
    const is = row === undefined ? "missing" : row.ended === 0 ? "open" : "ended";
    if (is !== expect) throw new RefusedChange("conflict", `The record of ${record.runId} is ${is}, not ${expect}.`);
  }
  touched.add("subagents");
  writeSubagentRun(db, record);
}

/** Writes a record with the columns it is found by. */
export function writeSubagentRun(db: Database, record: SubagentRunRecord): void {
  const { runId, requesterSessionKey, endedAt, archiveAtMs } = record;
  const ended = endedAt === undefined ? 0 : 1;
  db.run(PUT, runId, requesterSessionKey, JSON.stringify(record), ended, archiveAtMs ?? null);
}

export function removeSubagentRun({ db, touched }: Applying, { runId }: OpOf<"subagent.remove">): undefined {
  touched.add("subagents");
  db.run(REMOVE, runId);
}
