/**
 * Retention: removes one bounded portion of rows older than their limit, starting where the last portion ended. Rows that
 * have not ended stay at any age; history is never pruned. The newest change and the newest delivery stay, so that their
 * numbers keep rising.
 */
import { type Op, type OpResult, type Prunable, QUESTION_FACTS } from "../../../core/store/change.ts";
import type { Applying } from "./agent-cache.ts";
import type { Database } from "./database.ts";

interface WalkedRow {
  readonly n: number | string;
  readonly ended_at: number | null;
}

const STATEMENTS: Readonly<Record<Prunable, { readonly walk: string; readonly remove: string }>> = {
  messages: {
    walk: "SELECT n, settled_at AS ended_at FROM messages WHERE n > ? ORDER BY n LIMIT ?",
    remove: "DELETE FROM messages WHERE n = ?",
  },
  deliveries: {
    walk: "SELECT n, ended_at FROM deliveries WHERE n > ? AND n < (SELECT max(n) FROM deliveries) ORDER BY n LIMIT ?",
    remove: "DELETE FROM deliveries WHERE n = ?",
  },
  dedupe: {
    walk: `SELECT dedupe.key AS n,
  CASE WHEN messages.state IN ('waiting', 'taken') THEN NULL ELSE dedupe.keep_until END AS ended_at
FROM dedupe LEFT JOIN messages ON messages.agent = dedupe.agent AND messages.seq = dedupe.seq
WHERE dedupe.key > ? ORDER BY dedupe.key LIMIT ?`,
    remove: "DELETE FROM dedupe WHERE key = ?",
  },
  requests: {
    walk: "SELECT key AS n, keep_until AS ended_at FROM requests WHERE key > ? ORDER BY key LIMIT ?",
    remove: "DELETE FROM requests WHERE key = ?",
  },
  runs: {
    walk: "SELECT n, ended_at FROM runs WHERE n > ? ORDER BY n LIMIT ?",
    remove: "DELETE FROM runs WHERE n = ?",
  },
  changes: {
    walk: "SELECT n, at AS ended_at FROM changes WHERE n > ? AND n < (SELECT max(n) FROM changes) ORDER BY n LIMIT ?",
    remove: "DELETE FROM changes WHERE n = ?",
  },
  audit: {
    walk: "SELECT n, at AS ended_at FROM audit WHERE n > ? ORDER BY n LIMIT ?",
    remove: "DELETE FROM audit WHERE n = ?",
  },
  approvals: {
    walk: "SELECT n, ended_at FROM approvals WHERE n > ? ORDER BY n LIMIT ?",
    remove: "DELETE FROM approvals WHERE n = ?",
  },
  questions: {
    walk: `SELECT key AS n, json_extract(value, '$.askedAt') AS ended_at FROM facts
WHERE key > ? AND key >= '${QUESTION_FACTS}' AND key < '${QUESTION_FACTS}~' ORDER BY key LIMIT ?`,
    remove: "DELETE FROM facts WHERE key = ?",
  },
  slots: {
    walk: "SELECT n, at AS ended_at FROM job_slots WHERE n > ? ORDER BY n LIMIT ?",
    remove: "DELETE FROM job_slots WHERE n = ?",
  },
};

const COUNT: Readonly<Record<Prunable, string>> = {
  messages: "SELECT count(*) AS count FROM messages WHERE settled_at < ?",
  deliveries: "SELECT count(*) AS count FROM deliveries WHERE ended_at < ? AND n < (SELECT max(n) FROM deliveries)",
  dedupe: `SELECT count(*) AS count FROM dedupe LEFT JOIN messages ON messages.agent = dedupe.agent AND messages.seq = dedupe.seq
WHERE dedupe.keep_until < ? AND coalesce(messages.state NOT IN ('waiting', 'taken'), 1)`,
  requests: "SELECT count(*) AS count FROM requests WHERE keep_until < ?",
  runs: "SELECT count(*) AS count FROM runs WHERE ended_at < ?",
  changes: "SELECT count(*) AS count FROM changes WHERE at < ? AND n < (SELECT max(n) FROM changes)",
  audit: "SELECT count(*) AS count FROM audit WHERE at < ?",
  approvals: "SELECT count(*) AS count FROM approvals WHERE ended_at < ?",
  slots: "SELECT count(*) AS count FROM job_slots WHERE at < ?",
  questions: `SELECT count(*) AS count FROM facts WHERE key >= '${QUESTION_FACTS}' AND key < '${QUESTION_FACTS}~'
  AND json_extract(value, '$.askedAt') < ?`,
};

export const prunable = (db: Database, what: Prunable, before: number): number =>
  db.get<{ count: number }>(COUNT[what], before)?.count ?? 0;

/** Walked by a key that is a text. */
const BY_TEXT: ReadonlySet<Prunable> = new Set(["dedupe", "requests", "questions"]);

export function prune({ db }: Applying, op: Extract<Op, { op: "prune" }>): OpResult {
  const { walk, remove } = STATEMENTS[op.what];
  const start = BY_TEXT.has(op.what) ? (op.after ?? "") : Number(op.after ?? 0);
  const rows = db.all<WalkedRow>(walk, start, op.limit);
  let removed = 0;
  for (const { n, ended_at } of rows) {
    if (ended_at === null || ended_at >= op.before) continue;
    db.run(remove, n);
    removed += 1;
  }
  const last = rows.at(-1);
  const next = rows.length === op.limit && last ? String(last.n) : undefined;
  return { op: "prune", removed, next };
}
