/** The table `subagent_runs`: reads, and how ops on it are sent. */
import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readable, storedJson } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import type { Lock, OpForms } from "./op-form.ts";

const SELECT: Statement = { name: "select-subagent-run", text: "SELECT record FROM subagent_runs WHERE run_id = $1" };
const SELECT_ALL: Statement = {
  name: "select-subagent-runs",
  text: "SELECT record FROM subagent_runs ORDER BY run_id",
};
const SELECT_OF_REQUESTER: Statement = {
  name: "select-subagent-runs-of",
  text: "SELECT record FROM subagent_runs WHERE requester = $1 ORDER BY run_id",
};
const SELECT_OPEN: Statement = {
  name: "select-open-subagent-runs",
  text: "SELECT record FROM subagent_runs WHERE NOT ended ORDER BY run_id",
};
const SELECT_DUE: Statement = {
  name: "select-due-subagent-runs",
  text: "SELECT record FROM subagent_runs WHERE due_at <= $1 ORDER BY due_at, run_id LIMIT $2",
};
const COUNT_OPEN: Statement = {
  name: "count-open-subagent-runs",
  text: "SELECT count(*) AS open FROM subagent_runs WHERE requester = $1 AND NOT ended",
};

interface RecordRow {
  readonly record: string;
}

const recordOf = ({ record }: RecordRow): SubagentRunRecord => storedJson(record);

type SubagentRunReads = "openSubagentRuns" | "subagentRun" | "subagentRuns";

export function subagentRunReads(connections: Connections): Pick<StoreReader, SubagentRunReads> {
  const records = async (statement: Statement, ...values: readonly unknown[]) =>
    readable(await connections.all<RecordRow>(statement, ...values), recordOf);
  return {
    subagentRun: async (runId) => {
      const row = await connections.one<RecordRow>(SELECT, runId);
      return row && recordOf(row);
    },
    subagentRuns(filter) {
      if (!filter) return records(SELECT_ALL);
      if ("requesterSessionKey" in filter) return records(SELECT_OF_REQUESTER, filter.requesterSessionKey);
      if ("open" in filter) return records(SELECT_OPEN);
      return records(SELECT_DUE, filter.dueBy, filter.limit);
    },
    openSubagentRuns: async (requesterSessionKey) =>
      (await connections.one<{ open: number }>(COUNT_OPEN, requesterSessionKey))?.open ?? 0,
  };
}

const recordLock = (runId: string): readonly Lock[] => [["names", `subagent ${clean(runId)}`]];

export const subagentRunOps: OpForms<"subagent.put" | "subagent.remove"> = {
  "subagent.put": {
    wire: ({ record, expect }) => ({
      runId: clean(record.runId),
      requester: clean(record.requesterSessionKey),
      record: JSON.stringify(record),
      ended: record.endedAt === undefined ? undefined : true,
      dueAt: record.archiveAtMs,
      expect,
    }),
    locks: ({ record }) => recordLock(record.runId),
  },
  "subagent.remove": { wire: ({ runId }) => ({ runId: clean(runId) }), locks: ({ runId }) => recordLock(runId) },
};
