/**
 * The baseline of the store: a bare `node:sqlite` script without checks, answers or promises. `bareWriters`
 * writes the same rows into the same schema, in groups of 100 messages with `synchronous=FULL`; `minimalWriters` writes
 * the minimum of a durable message, for information.
 */
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../src/adapters/store/sqlite/database.ts";
import { systemIds } from "../../src/adapters/system/system-ids.ts";
import { dedupeKeyOf, KEEP_UNTIL, keyOf, leafOf, lineOf, messageOf, seedOf, stateOf, WRITERS } from "./workload.ts";

const GROUP = 100;

const INSERT_AGENT = `INSERT INTO agents (id, session_key, profile, kind, parent, descriptor, created_at, session_id, next_seq,
  cursor, waiting, next_pos, leaf, run_id, node, epoch, last_human_at, stopped, state)
VALUES (?, ?, 'main', 'user', NULL, ?, ?, ?, 1, 0, 0, ?, ?, NULL, NULL, 0, NULL, NULL, ?)`;

export interface BareWriters {
  /** Writes this many messages. Returns the milliseconds it took. */
  run(messages: number): number;
  close(): void;
}

export function bareWriters(path: string): BareWriters {
  const db = openDatabase(path, { synchronous: "full" });
  const { sql } = db;
  const ids = systemIds();
  const dedupe = sql.prepare(
    "INSERT INTO dedupe (key, agent, seq, keep_until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const message = sql.prepare(
    "INSERT INTO messages (agent, seq, state, urgent, accepted_at, message) VALUES (?, ?, 'waiting', ?, ?, ?)",
  );
  const inbox = sql.prepare(
    "UPDATE agents SET next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_human_at = ? WHERE no = ?",
  );
  const change = sql.prepare("INSERT INTO changes (id, at, touched, result) VALUES (?, ?, ?, ?)");
  const entry = sql.prepare("INSERT INTO entries (agent, pos, line) VALUES (?, ?, ?)");
  const settle = sql.prepare(
    `UPDATE messages SET state = ?, run_id = coalesce(?, run_id), reason = ?, settled_at = ?
     WHERE agent = ? AND seq = ? AND state = ?`,
  );
  const state = sql.prepare(
    `UPDATE agents SET next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_human_at = ?,
       session_id = ?, next_pos = ?, leaf = ?, run_id = ?, stopped = ?, state = ?
     WHERE no = ?`,
  );
  const agents = Array.from({ length: WRITERS }, (_, n) => makeAgent(n));
  let n = 0;

  function makeAgent(number: number): { no: number; seq: number; position: number; id: string; session: string } {
    const seed = seedOf(number);
    const { lastInsertRowid } = sql
      .prepare(INSERT_AGENT)
      .run(
        seed.id,
        seed.sessionKey,
        JSON.stringify(seed.descriptor),
        seed.createdAt,
        seed.sessionId,
        seed.lines.length,
        seed.leaf,
        JSON.stringify(seed.state),
      );
    const no = Number(lastInsertRowid);
    sql.prepare("INSERT INTO session_keys (key, agent) VALUES (?, ?)").run(keyOf(number), no);
    for (const [position, line] of seed.lines.entries()) entry.run(no, position, line);
    return { no, seq: 1, position: seed.lines.length, id: seed.id, session: seed.sessionId };
  }

  function writeOne(number: number, at: number): void {
    const agent = agents[number];
    if (!agent) throw new Error("No agent.");
    const seq = agent.seq++;
    const value = messageOf(number, at);
    // The accept: dedupe key, message, the agent's counters, the change with its result.
    dedupe.run(dedupeKeyOf(number, at), agent.no, seq, KEEP_UNTIL);
    message.run(agent.no, seq, 0, value.acceptedAt, JSON.stringify(value));
    inbox.run(seq + 1, seq - 1, 1, 1, 1, value.acceptedAt, agent.no);
    const result = [
      { op: "message.post", agentId: agent.id, seq, duplicate: false, created: false, holder: { node: 1, epoch: 1 } },
    ];
    change.run(ids.change(), at, String(agent.no), JSON.stringify(result));
    // The step: entry, settlement, the agent with its state, the change.
    const position = agent.position++;
    const leaf = leafOf(position);
    entry.run(agent.no, position, lineOf(at, leaf));
    settle.run("answered", null, null, at, agent.no, seq, "waiting");
    state.run(
      seq + 1,
      seq,
      0,
      1,
      1,
      value.acceptedAt,
      agent.session,
      position + 1,
      leaf,
      null,
      null,
      JSON.stringify(stateOf(at)),
      agent.no,
    );
    change.run(ids.change(), at, String(agent.no), null);
  }

  return {
    run(messages) {
      const begun = performance.now();
      for (let written = 0; written < messages; written += GROUP) {
        sql.exec("BEGIN IMMEDIATE");
        for (let i = 0; i < GROUP; i++) writeOne(i % WRITERS, n++);
        sql.exec("COMMIT");
      }
      return performance.now() - begun;
    },
    close: () => db.close(),
  };
}

export function minimalWriters(path: string): BareWriters {
  const sql = new DatabaseSync(path);
  sql.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 10000");
  sql.exec(`
    CREATE TABLE inbox (n INTEGER PRIMARY KEY, agent INTEGER, seq INTEGER, done INTEGER, message TEXT);
    CREATE UNIQUE INDEX inbox_place ON inbox (agent, seq);
    CREATE TABLE entries (n INTEGER PRIMARY KEY, agent INTEGER, pos INTEGER, line TEXT);
    CREATE UNIQUE INDEX entries_place ON entries (agent, pos);
    CREATE TABLE agents (no INTEGER PRIMARY KEY, state TEXT);`);
  const insert = sql.prepare("INSERT INTO inbox (agent, seq, done, message) VALUES (?, ?, 0, ?)");
  const entry = sql.prepare("INSERT INTO entries (agent, pos, line) VALUES (?, ?, ?)");
  const state = sql.prepare("UPDATE agents SET state = ? WHERE no = ?");
  const settle = sql.prepare("UPDATE inbox SET done = 1 WHERE agent = ? AND seq = ?");
  for (let no = 0; no < WRITERS; no++) sql.prepare("INSERT INTO agents VALUES (?, '')").run(no);
  let n = 0;
  return {
    run(messages) {
      const begun = performance.now();
      for (let written = 0; written < messages; written += GROUP) {
        sql.exec("BEGIN IMMEDIATE");
        for (let i = 0; i < GROUP; i++) {
          const at = n++;
          const agent = i % WRITERS;
          insert.run(agent, at, JSON.stringify(messageOf(agent, at)));
          entry.run(agent, at, lineOf(at, leafOf(at)));
          state.run(JSON.stringify(stateOf(at)), agent);
          settle.run(agent, at);
        }
        sql.exec("COMMIT");
      }
      return performance.now() - begun;
    },
    close: () => sql.close(),
  };
}
