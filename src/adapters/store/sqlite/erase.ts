/**
 * Erases a person's rows: everything of an agent but an empty row, and everything that names the person. Running it again changes
 * nothing more. The bytes go with `compact`.
 */
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Op } from "../../../core/store/change.ts";
import type { StoreEraser } from "../../../core/store/store.ts";
import { FORGOTTEN_REPLY, forgottenKey } from "../forgotten-key.ts";
import { hasWord } from "../has-word.ts";
import { type AgentRow, agentOf, readablePage } from "../rows.ts";
import type { Applying } from "./agent-cache.ts";
import { AGENT_COLUMNS } from "./agents.ts";
import type { Database } from "./database.ts";
import { prunable } from "./prune.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** Of an agent by its number. The order matters: holds and reservations are found by rows that are deleted later. */
const BY_NUMBER = [
  "DELETE FROM file_holds WHERE holder IN (SELECT 'delivery:' || id FROM deliveries WHERE agent = ?)",
  "DELETE FROM reservations WHERE run_id IN (SELECT id FROM runs WHERE agent = ?)",
  "DELETE FROM deliveries WHERE agent = ?",
  "DELETE FROM entries WHERE agent = ?",
  "DELETE FROM messages WHERE agent = ?",
  "DELETE FROM runs WHERE agent = ?",
  "DELETE FROM session_keys WHERE agent = ?",
];
const BY_ID = [
  "DELETE FROM file_holds WHERE holder = 'agent:' || ?",
  "DELETE FROM approvals WHERE agent = ?",
  "DELETE FROM waits WHERE ? IN (waiter, awaited)",
  "DELETE FROM swarm_contacts WHERE ? IN (contact, agent)",
  "DELETE FROM subagent_runs WHERE instr(record, ?) > 0",
  "DELETE FROM budgets WHERE key IN ('agent:' || ?1, 'tree:' || ?1)",
  "DELETE FROM budget_told WHERE ?1 = agent OR key IN ('agent:' || ?1, 'tree:' || ?1)",
];
const CHILD_RECORDS = "DELETE FROM subagent_runs WHERE requester = ?";
const SELECT_KEYS = "SELECT key FROM dedupe WHERE agent = ? AND NOT (key >= '#' AND key < '$')";
const HIDE_KEY = "UPDATE OR REPLACE dedupe SET key = ? WHERE key = ?";
const HIDE_REPLIES = "UPDATE requests SET reply = ? WHERE agent = ? AND reply IS NOT NULL";
const EMPTY_ROW = `UPDATE agents SET session_key = 'forgotten:' || id, person = ?, kind = 'system',
  descriptor = '{"type":"system","tag":"forgotten"}' WHERE no = ?`;

export function eraseAgent(applying: Applying, { agentId, tombstone }: OpOf<"agent.erase">): undefined {
  const { db, agents, change, touched } = applying;
  const agent = agents.get(agentId);
  for (const text of BY_NUMBER) db.run(text, agent.no);
  for (const text of BY_ID) db.run(text, agentId);
  db.run(CHILD_RECORDS, agent.session_key);
  for (const { key } of db.all<{ key: string }>(SELECT_KEYS, agent.no)) db.run(HIDE_KEY, forgottenKey(key), key);
  db.run(HIDE_REPLIES, FORGOTTEN_REPLY, agent.no);
  agent.stopped = JSON.stringify({ at: change.at, reason: "forgotten", seq: agent.next_seq, removed: true });
  agent.state = JSON.stringify(freshState(change.at));
  Object.assign(agent, { node: null, epoch: agent.epoch + 1, run_id: null, suspended: 0, waiting: 0, next_pos: 0 });
  Object.assign(agent, { cursor: agent.next_seq - 1, last_human_at: null });
  agents.touch(agent, "all");
  agents.write();
  db.run(EMPTY_ROW, tombstone, agent.no);
  agents.drop(agent);
  for (const word of [agent.no, "subagents", "budgets", "files"]) touched.add(word);
}

const IN = "IN (SELECT value FROM json_each(?))";
const REMOVE_PEOPLE = `DELETE FROM people WHERE id ${IN}`;
const REMOVE_ACCOUNTS = `DELETE FROM person_accounts WHERE person ${IN} OR account ${IN}`;
const REMOVE_JOBS = `DELETE FROM jobs WHERE id ${IN}`;
const REMOVE_SLOTS = `DELETE FROM job_slots WHERE job ${IN}`;
const REMOVE_BUDGETS = `DELETE FROM budgets WHERE key ${IN}`;
const REMOVE_TOLD = `DELETE FROM budget_told WHERE key ${IN}`;
const HIDE_DECIDER = `UPDATE approvals SET decided_by = ? WHERE decided_by ${IN}`;
/** What was done and decided stays; who did it, and what about, does not. */
const HIDE_AUDIT = `UPDATE audit SET person = ?1, entry = json_object('at', at, 'person', ?1, 'surface', entry ->> 'surface',
  'action', action, 'decision', decision) WHERE person ${IN}`;
const SELECT_TARGETS = `SELECT n, entry FROM audit WHERE instr(entry, ?) > 0`;
const HIDE_TARGET = `UPDATE audit SET entry = json_remove(json_set(entry, '$.target', ?), '$.reason') WHERE n = ?`;
const HIDE_REPLY = "UPDATE requests SET reply = ? WHERE instr(reply, ?) > 0";
const HIDE_RESULT = "UPDATE changes SET result = NULL WHERE instr(result, ?) > 0";

export function erasePerson({ db, touched }: Applying, op: OpOf<"person.erase">): undefined {
  const { tombstone } = op;
  const [people, jobs, budgets] = [op.people, op.jobs, op.budgets].map((list) => JSON.stringify(list)) as [
    string,
    string,
    string,
  ];
  db.run(REMOVE_PEOPLE, people);
  db.run(REMOVE_ACCOUNTS, people, people);
  db.run(REMOVE_JOBS, jobs);
  db.run(REMOVE_SLOTS, jobs);
  db.run(REMOVE_BUDGETS, budgets);
  db.run(REMOVE_TOLD, budgets);
  db.run(HIDE_DECIDER, tombstone, people);
  db.run(HIDE_AUDIT, tombstone, people);
  for (const person of op.people) {
    for (const { n, entry } of db.all<{ n: number; entry: string }>(SELECT_TARGETS, person))
      if (isAbout(entry, person)) db.run(HIDE_TARGET, tombstone, n);
    const quoted = JSON.stringify(person);
    db.run(HIDE_REPLY, FORGOTTEN_REPLY, quoted);
    db.run(HIDE_RESULT, quoted);
  }
  for (const word of ["jobs", "slots", "budgets", "people"]) touched.add(word);
}

/** Whether the target or the reason of an audit row names the person as a word. */
function isAbout(entry: string, person: string): boolean {
  const { target = "", reason = "" } = JSON.parse(entry) as { target?: string; reason?: string };
  return [target, reason].some((text) => hasWord(text, person));
}

const SELECT_AGENTS = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE no > coalesce((SELECT no FROM agents WHERE id = ?), 0) ORDER BY no LIMIT ?`;
const SELECT_FACTS = "SELECT key, value FROM facts WHERE key > ? ORDER BY key LIMIT ?";
const SELECT_LINES = `SELECT line AS text FROM entries WHERE agent = (SELECT no FROM agents WHERE id = ?1) AND instr(line, ?2) > 0
UNION ALL SELECT message FROM messages WHERE agent = (SELECT no FROM agents WHERE id = ?1) AND instr(message, ?2) > 0`;

export const eraserOf = (db: Database): StoreEraser => ({
  agents: ({ after, limit }) =>
    readablePage(limit, agentOf, (asked) => db.all<AgentRow>(SELECT_AGENTS, after ?? null, asked)),
  facts: async ({ after = "", limit }) => db.all(SELECT_FACTS, after, limit),
  mentions: async (agents, texts) =>
    agents.flatMap((agentId) => {
      const count = mentionsIn(db, agentId, texts);
      return count === 0 ? [] : [{ agentId, count }];
    }),
  prunable: async (what, before) => prunable(db, what, before),
  async compact() {
    // Other connections read for a moment only: the plain files and the search index follow this database.
    db.sql.exec("PRAGMA busy_timeout = 30000");
    try {
      db.sql.exec("VACUUM");
      db.sql.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      db.sql.exec("PRAGMA busy_timeout = 5000");
    }
  },
});

function mentionsIn(db: Database, agentId: AgentId, texts: readonly string[]): number {
  const found = new Set<string>();
  for (const text of texts) {
    for (const row of db.all<{ text: string }>(SELECT_LINES, agentId, text))
      if (hasWord(row.text, text)) found.add(row.text);
  }
  return found.size;
}
