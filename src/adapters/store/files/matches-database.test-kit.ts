/** Compares plain files with the database, for tests. It shares no code with the mirror. */
import { expect } from "vitest";
import type { Spend } from "../../../core/budget/budget.ts";
import type { Database } from "../sqlite/database.ts";
import type { MirrorFiles } from "./mirror-files.ts";

export function expectFilesMatch(db: Database, files: Pick<MirrorFiles, "read" | "list">): void {
  const text = (path: string): string | undefined => files.read(path)?.toString();
  const json = (path: string): Record<string, unknown> => JSON.parse(text(path) ?? "{}");
  const rows = (sql: string, ...values: (string | number)[]) => db.sql.prepare(sql).all(...values);
  const agents = rows("SELECT * FROM agents ORDER BY id");
  expect(files.list("agents")).toEqual(agents.map((agent) => agent.id));
  for (const agent of agents) {
    const no = agent.no as number;
    const dir = `agents/${String(agent.id)}`;
    const lines = rows("SELECT line FROM entries WHERE agent = ? ORDER BY pos", no).map(
      (row) => `${String(row.line)}\n`,
    );
    expect(text(`${dir}/history.jsonl`)).toBe(lines.join(""));
    expect(json(`${dir}/descriptor.json`)).toEqual(JSON.parse(agent.descriptor as string));
    expect(json(`${dir}/state.json`)).toMatchObject({
      ...JSON.parse(agent.state as string),
      _engine: { sessionKey: agent.session_key, sessionId: agent.session_id, profile: agent.profile },
    });
    const messages = rows("SELECT * FROM messages WHERE agent = ? AND state IN ('waiting', 'taken') ORDER BY seq", no);
    const deliveries = rows(
      "SELECT * FROM deliveries WHERE agent = ? AND state IN ('pending', 'sending', 'waiting-reader', 'unroutable') ORDER BY n",
      no,
    );
    const pending = json(`${dir}/pending.json`);
    expect(pending).toMatchObject({
      nextSeq: agent.next_seq,
      nextPos: agent.next_pos,
      leaf: agent.leaf,
      messages: messages.map((row) => ({ seq: row.seq, state: row.state, message: JSON.parse(row.message as string) })),
      deliveries: deliveries.map((row) => ({ id: row.id, state: row.state, attempts: row.attempts })),
      dedupe: rows("SELECT key, seq, keep_until FROM dedupe WHERE agent = ? ORDER BY seq", no).map((row) => [
        row.key,
        row.seq,
        row.keep_until,
      ]),
    });
    expect((pending.run as { id: string } | undefined)?.id ?? null).toBe(agent.run_id);
  }
  const slots = rows("SELECT row FROM job_slots ORDER BY n").map((row) => JSON.parse(row.row as string) as unknown);
  const last = new Map<string, unknown>();
  for (const line of (text("cron/runs.jsonl") ?? "").split("\n").filter(isJson)) {
    const slot = JSON.parse(line) as { jobId: string; slot: string };
    last.set(`${slot.jobId} ${slot.slot}`, slot);
  }
  expect(new Set(last.values())).toEqual(new Set(slots));
  const jobs = rows("SELECT job FROM jobs ORDER BY id").map((row) => JSON.parse(row.job as string) as unknown);
  expect({ jobs: [], ...json("cron/jobs.json") }).toMatchObject({ jobs });
  const budgets = rows("SELECT key, spent_tokens, reserved_micros FROM budgets ORDER BY key");
  const listed = (json("budgets.json").budgets ?? []) as { key: string; spent: Spend; reserved: Spend }[];
  expect(
    listed.map(({ key, spent, reserved }) => ({ key, spent_tokens: spent.tokens, reserved_micros: reserved.micros })),
  ).toEqual(budgets.map((row) => ({ ...row })));
  expect(json("budgets.json").reservations ?? []).toHaveLength(rows("SELECT id FROM reservations").length);
  const runs = rows("SELECT run_id, record FROM subagent_runs").map((row) => [
    row.run_id,
    JSON.parse(row.record as string),
  ]);
  expect({ runs: {}, ...json("subagents/runs.json") }).toMatchObject({ runs: Object.fromEntries(runs) });
}

/** A line that a crash tore does not count. */
function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
