/** Compares the plain files with the database at a moment when they must agree. It shares no code with the mirror. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { DATABASE_FILE } from "../../../src/adapters/store/sqlite/open-store.ts";

export function auditFiles(home: string): string[] {
  const problems: string[] = [];
  const sql = new DatabaseSync(join(home, DATABASE_FILE), { readOnly: true, timeout: 5_000 });
  try {
    sql.exec("BEGIN");
    const agents = sql.prepare("SELECT * FROM agents ORDER BY id").all();
    const folders = existsSync(join(home, "agents")) ? readdirSync(join(home, "agents")).sort() : [];
    if (
      !isDeepStrictEqual(
        folders,
        agents.map((agent) => agent.id),
      )
    ) {
      problems.push(`There are folders for ${folders.length} agents and rows for ${agents.length}.`);
    }
    for (const agent of agents) {
      if (folders.includes(String(agent.id))) problems.push(...auditAgent(home, sql, agent));
    }
  } finally {
    sql.close();
  }
  return problems;
}

function auditAgent(home: string, sql: DatabaseSync, agent: Record<string, unknown>): string[] {
  const problems: string[] = [];
  const id = String(agent.id);
  const no = Number(agent.no);
  const read = (name: string): string => readFileSync(join(home, "agents", id, name), "utf8");
  const json = (name: string): Record<string, unknown> => JSON.parse(read(name)) as Record<string, unknown>;
  const lines = sql.prepare("SELECT line FROM entries WHERE agent = ? ORDER BY pos").all(no);
  if (read("history.jsonl") !== lines.map((row) => `${String(row.line)}\n`).join("")) {
    problems.push(`history.jsonl of agent ${id} is not the database's history.`);
  }
  if (!isDeepStrictEqual(json("descriptor.json"), JSON.parse(String(agent.descriptor)))) {
    problems.push(`descriptor.json of agent ${id} is not the database's.`);
  }
  const { _engine, ...state } = json("state.json");
  if (!isDeepStrictEqual(state, JSON.parse(String(agent.state)))) {
    problems.push(`state.json of agent ${id} is not the database's.`);
  }
  const pending = json("pending.json") as {
    nextSeq?: number;
    messages?: { seq: number; state: string }[];
    run?: { id: string };
  };
  const open = sql
    .prepare("SELECT seq, state FROM messages WHERE agent = ? AND state IN ('waiting', 'taken') ORDER BY seq")
    .all(no)
    .map((row) => `${String(row.seq)} ${String(row.state)}`);
  const listed = (pending.messages ?? []).map((message) => `${message.seq} ${message.state}`);
  if (!isDeepStrictEqual(listed, open) || pending.nextSeq !== agent.next_seq) {
    problems.push(`pending.json of agent ${id} does not list the messages that are unsettled.`);
  }
  if ((pending.run?.id ?? null) !== agent.run_id) problems.push(`pending.json of agent ${id} names another run.`);
  return problems;
}
