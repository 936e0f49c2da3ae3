/** Ops on the records of spawned children. A record ends once: whoever wants to end one that has ended is refused (L6). */

import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Applying } from "./apply-change.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

export function putSubagentRun({ db, touched }: Applying, op: Extract<Op, { op: "subagent.put" }>): undefined {
  const { record, expect } = op;
  if (expect) {
    const row = db.statement("select-subagent-run-ended").get(record.runId);
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
  db.statement("put-subagent-run").run(runId, requesterSessionKey, JSON.stringify(record), ended, archiveAtMs ?? null);
}
