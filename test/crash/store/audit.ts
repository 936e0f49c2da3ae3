/**
 * Audits the data of a killed process: everything promised is there, every counter is right, every step is complete. It
 * reads the tables itself and shares no code with the store.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../../src/adapters/store/sqlite/open-store.ts";
import type { Promised } from "./promises.ts";

export interface Audit {
  readonly problems: string[];
  readonly messages: number;
  /** Committed, but killed before the report: proves that kills hit work in progress. */
  readonly untold: number;
  readonly openRuns: number;
}

interface MessageRow {
  readonly id: string;
  readonly seq: number;
  readonly state: string;
  readonly token: string;
  readonly run_id: string | null;
}

export function auditDatabase(home: string, promised: Promised): Audit {
  const sql = new DatabaseSync(join(home, DATABASE_FILE), { readOnly: true, timeout: 5_000 });
  try {
    // A consistent snapshot of the database, although its process is working.
    sql.exec("BEGIN");
    return audit(sql, promised);
  } finally {
    sql.close();
  }
}

function audit(sql: DatabaseSync, promised: Promised): Audit {
  const problems: string[] = [];
  const wrong = (text: string): void => void problems.push(text);
  const check = sql.prepare("PRAGMA quick_check").get();
  if (check?.quick_check !== "ok") wrong(`The database is damaged: ${JSON.stringify(check)}.`);

  const messages = sql
    .prepare(
      `SELECT agents.id, messages.seq, messages.state, messages.run_id,
         json_extract(messages.message, '$.body.text') AS token
       FROM messages JOIN agents ON agents.no = messages.agent ORDER BY agents.no, messages.seq`,
    )
    .all() as unknown as MessageRow[];
  const byToken = new Map<string, MessageRow>();
  for (const message of messages) {
    if (byToken.has(message.token)) wrong(`Message ${message.token} was accepted twice.`);
    byToken.set(message.token, message);
  }

  for (const [token, { agentId, seq }] of promised.accepted) {
    const message = byToken.get(token);
    if (!message) wrong(`Message ${token} was acknowledged and is missing.`);
    else if (message.id !== agentId || message.seq !== seq) wrong(`Message ${token} is not where it was said to be.`);
  }
  for (const token of promised.answered) {
    const state = byToken.get(token)?.state;
    if (state !== "answered") wrong(`Message ${token} was reported as answered and is ${state ?? "missing"}.`);
  }

  auditCounters(sql, wrong);
  const openRuns = auditRuns(sql, wrong);
  auditSteps(sql, messages, wrong);
  const untold = messages.filter((message) => !promised.accepted.has(message.token)).length;
  return { problems, messages: messages.length, untold, openRuns };
}

/** Sequences and positions are dense, the counters are the counts, and the cursor passes no waiting message. */
function auditCounters(sql: DatabaseSync, wrong: (text: string) => void): void {
  const agents = sql
    .prepare(
      `SELECT id, next_seq, cursor, waiting, next_pos,
         (SELECT count(*) FROM messages WHERE agent = no) AS messages,
         (SELECT coalesce(max(seq), 0) FROM messages WHERE agent = no) AS last_seq,
         (SELECT count(*) FROM messages WHERE agent = no AND state = 'waiting') AS waits,
         (SELECT min(seq) FROM messages WHERE agent = no AND state = 'waiting') AS first_waiting,
         (SELECT count(*) FROM entries WHERE agent = no) AS entries,
         (SELECT max(pos) FROM entries WHERE agent = no) AS last_pos
       FROM agents`,
    )
    .all();
  for (const agent of agents) {
    const n = (column: string): number => Number(agent[column]);
    const id = String(agent.id);
    if (n("messages") !== n("next_seq") - 1 || n("last_seq") !== n("messages"))
      wrong(`Agent ${id} has a gap in its inbox.`);
    if (n("waits") !== n("waiting"))
      wrong(`Agent ${id} counts ${n("waiting")} waiting messages and has ${n("waits")}.`);
    const first = agent.first_waiting === null ? n("next_seq") : n("first_waiting");
    if (n("cursor") >= first) wrong(`The cursor of agent ${id} has passed message ${first}, which waits.`);
    if (n("waits") === 0 && n("cursor") !== n("next_seq") - 1) wrong(`The cursor of agent ${id} lags behind.`);
    if (n("entries") !== n("next_pos") || n("last_pos") !== n("next_pos") - 1)
      wrong(`Agent ${id} has a gap in its history.`);
  }
}

/** At most one open run per agent, and the agent names it. */
function auditRuns(sql: DatabaseSync, wrong: (text: string) => void): number {
  const open = sql
    .prepare(
      "SELECT agents.id, agents.run_id, runs.id AS run FROM runs JOIN agents ON agents.no = runs.agent WHERE runs.state = 'open'",
    )
    .all();
  for (const row of open) {
    if (row.run !== row.run_id)
      wrong(`Agent ${String(row.id)} has run ${String(row.run)} open and names ${String(row.run_id)}.`);
  }
  const named = sql.prepare("SELECT count(*) AS n FROM agents WHERE run_id IS NOT NULL").get();
  if (Number(named?.n) !== open.length)
    wrong(`${String(named?.n)} agents name a run and ${open.length} runs are open.`);
  return open.length;
}

/** A step is applied completely or not at all: a message's state, entries and delivery agree. */
function auditSteps(sql: DatabaseSync, messages: readonly MessageRow[], wrong: (text: string) => void): void {
  const tally = (text: string): Map<string, number> =>
    new Map(
      sql
        .prepare(text)
        .all()
        .map((row) => [String(row.token), Number(row.n)]),
    );
  const entries = (role: string): Map<string, number> =>
    tally(
      `SELECT json_extract(line, '$.token') AS token, count(*) AS n FROM entries
       WHERE json_extract(line, '$.role') = '${role}' GROUP BY 1`,
    );
  const asked = entries("user");
  const said = entries("assistant");
  const owed = tally("SELECT json_extract(payload, '$.text') AS token, count(*) AS n FROM deliveries GROUP BY 1");
  const thought = new Set(
    sql
      .prepare("SELECT id FROM runs WHERE json_extract(body, '$.iterations') > 0")
      .all()
      .map((row) => String(row.id)),
  );
  for (const { token, state, run_id } of messages) {
    const have = [asked.get(token) ?? 0, said.get(token) ?? 0, owed.get(token) ?? 0].join();
    const should =
      state === "waiting" ? "0,0,0" : state === "answered" ? "1,1,1" : thought.has(run_id ?? "") ? "1,1,0" : "1,0,0";
    if (have !== should) wrong(`Message ${token} is ${state}, but asked, said and owed are ${have} and not ${should}.`);
  }
}
