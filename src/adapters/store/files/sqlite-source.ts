/** The mirror's reads on SQLite. The connection is read-only: whatever goes wrong here, the database is not harmed. */
import { readFileSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { dedupeKey, type Source } from "../../../core/message/message.ts";
import { databaseOf } from "../sqlite/database.ts";
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

/** The prepared statements of this folder's `sql/`. */
export function statementsOf(sql: DatabaseSync): (name: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (name) => {
    let statement = prepared.get(name);
    if (!statement) {
      statement = sql.prepare(readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), "utf8"));
      prepared.set(name, statement);
    }
    return statement;
  };
}

const MAX_SWARMS = 100_000;

export function sqliteSource(sql: DatabaseSync): MirrorSource {
  const statement = statementsOf(sql);
  const store = databaseOf(sql);
  const all = <T>(name: string, ...values: SQLInputValue[]): T[] => statement(name).all(...values) as unknown as T[];
  const one = <T>(name: string, ...values: SQLInputValue[]): T | undefined =>
    statement(name).get(...values) as unknown as T | undefined;
  const dedupeRow = (no: number, key: string): DedupeRow | undefined => {
    const row = one<{ seq: number; keep_until: number }>("dedupe-row", key, no);
    return row && [key, row.seq, row.keep_until];
  };

  return {
    bounds() {
      const row = one<{ first: number | null; last: number | null }>("change-bounds");
      return { first: row?.first ?? 0, last: row?.last ?? 0 };
    },
    changeId: (n) => one<{ id: string }>("change-id", n)?.id,
    changesAfter: (n, limit) => all<LoggedChange>("changes-after", n, limit),
    agentsAfter: (no, limit) => all<{ no: number }>("agents-after", no, limit).map((row) => row.no),
    knowsAgent: (id) => one("agent-number", id) !== undefined,
    consistently(read) {
      sql.exec("BEGIN");
      try {
        return read();
      } finally {
        sql.exec("COMMIT");
      }
    },
    agent: (no) => one<AgentRow>("agent-row", no),
    lines: (no, from, limit) => all("lines-from", no, from, limit),
    openRun: (runId) => one<RunRow>("open-run", runId),
    unsettled: (no, fromSeq) => all<MessageRow>("unsettled-messages", no, fromSeq),
    dedupeKeys(no, afterSeq, limit) {
      const rows = all<{ source: string | null; own: string | null }>("recent-sources", no, afterSeq, limit).reverse();
      return rows.flatMap(({ source, own }) => {
        const from = source === null ? undefined : (JSON.parse(source) as Source);
        const key = dedupeKey({ source: from, key: own ?? undefined });
        const row = key === undefined ? undefined : dedupeRow(no, key);
        return row ? [row] : [];
      });
    },
    dedupeKey: dedupeRow,
    openDeliveries(no) {
      const first = one<{ n: number }>("first-open-delivery");
      return first ? all<DeliveryRow>("open-deliveries", no, first.n) : [];
    },
    subagentRuns: () =>
      store
        .statement("select-subagent-runs")
        .all()
        .map((row) => JSON.parse(row.record as string)),
    budgets: () => budgetsIn(store),
    swarms: () =>
      store
        .statement("select-swarms")
        .all("", MAX_SWARMS)
        .map((row) => JSON.parse(row.record as string)),
    jobs: () =>
      store
        .statement("select-jobs")
        .all()
        .map((row) => JSON.parse(row.job as string)),
    slot: (jobId, slot) => store.statement("select-job-slot").get(jobId, slot)?.row as string | undefined,
    newestSlots: (limit) => all<{ row: string }>("newest-slots", limit).map(({ row }) => row),
    job: (id) => {
      const row = store.statement("select-job").get(id);
      return row && JSON.parse(row.job as string);
    },
  };
}
