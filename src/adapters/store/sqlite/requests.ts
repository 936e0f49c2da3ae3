/** The table `requests`: the ledger of HTTP requests, by key and by content (M18). */
import type { AgentId } from "../../../core/ids.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import { joinsEarlier, type RequestEntry } from "../../../core/store/request.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type RequestRow, requestOf } from "../rows.ts";
import { type Applying, type CachedAgent, isRemoved } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

/** Whether a message waits, or belongs to a run that has not ended. */
const OPEN = "(messages.state IN ('waiting', 'taken') OR messages.state = 'merged' AND runs.state = 'open')";
const SELECT = `SELECT requests.key, requests.digest, agents.id AS agent_id, requests.seq, requests.finished,
  agents.last_user_seq > requests.seq AS later, requests.reply, requests.keep_until, ${OPEN} AS open
FROM requests LEFT JOIN agents ON agents.no = requests.agent
LEFT JOIN messages ON messages.agent = requests.agent AND messages.seq = requests.seq LEFT JOIN runs ON runs.id = messages.run_id
WHERE requests.key = ?`;
const SELECT_OPEN = `SELECT ${OPEN} AS open FROM messages LEFT JOIN runs ON runs.id = messages.run_id
WHERE messages.agent = ? AND messages.seq = ?`;
const SELECT_HELD = "SELECT digest, agent, seq, finished, reply, keep_until FROM requests WHERE key = ?";
const INSERT = `INSERT INTO requests (key, digest, agent, seq, reply, keep_until) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`;
const REPLACE =
  "UPDATE requests SET digest = ?, agent = ?, seq = ?, finished = 0, reply = ?, keep_until = ? WHERE key = ?";
const SET_REPLY = "UPDATE requests SET reply = ? WHERE key = ?";
const FINISH =
  "UPDATE requests SET finished = 1 WHERE key = ? AND seq = ? AND agent = (SELECT no FROM agents WHERE id = ?)";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

/** A row as it is compared and replaced. `agent` is the agent's number. */
interface HeldRow {
  readonly digest: string | null;
  readonly agent: number | null;
  readonly seq: number | null;
  readonly finished: number;
  readonly reply: string | null;
  readonly keep_until: number;
}

export const requestReads = (db: Database): Pick<StoreReader, "request"> => ({
  request: async (key) => {
    const row = db.get<RequestRow>(SELECT, key);
    return row && requestOf(row);
  },
});

/** The message of the earlier request that this one repeats. Refuses a key that belongs to another request. */
export function repeatedRequest({ db, agents, change }: Applying, entry: RequestEntry): OpResult | undefined {
  const row = db.get<HeldRow>(SELECT_HELD, entry.key);
  if (!row || row.keep_until <= change.at) return undefined;
  if (entry.by === "key") assertSame(row, entry);
  if (row.agent === null || row.seq === null) return undefined;
  const earlier = agents.byNumber(row.agent);
  if (entry.by === "content") {
    const later = earlier.last_user_seq > row.seq;
    const open = db.get<{ open: number }>(SELECT_OPEN, row.agent, row.seq)?.open === 1;
    if (isRemoved(earlier) || !joinsEarlier({ isRetry: entry.isRetry, finished: row.finished === 1, later, open })) {
      return undefined;
    }
  }
  return posted(earlier.id, row.seq);
}

const posted = (agentId: AgentId, seq: number): OpResult => ({
  op: "message.post",
  agentId,
  seq,
  duplicate: true,
  created: false,
});

/** Enters the request of a message that is about to be posted, or returns the message of the request it repeats. */
export function enterRequest(
  applying: Applying,
  entry: RequestEntry,
  agent: CachedAgent,
  seq: number,
): OpResult | undefined {
  if (inserted(applying.db, entry, agent.no, seq, null)) return undefined;
  const before = repeatedRequest(applying, entry);
  if (!before) replace(applying.db, entry, agent.no, seq, null);
  return before;
}

export function putRequest({ db, change }: Applying, { request, reply }: OpOf<"request.put">): undefined {
  if (inserted(db, request, null, null, reply)) return;
  const row = db.get<HeldRow>(SELECT_HELD, request.key);
  if (!row || row.keep_until <= change.at) {
    replace(db, request, null, null, reply);
    return;
  }
  assertSame(row, request);
  if (row.reply !== null) throw new RefusedChange("conflict", "The request of this key has its reply.");
  db.run(SET_REPLY, reply, request.key);
}

export function finishRequest({ db }: Applying, { key, agentId, seq }: OpOf<"request.finish">): undefined {
  db.run(FINISH, key, seq, agentId);
}

type Place = number | null;

const digestOf = (entry: RequestEntry): string | null => (entry.by === "key" ? entry.digest : null);

/** False if there is a row. */
const inserted = (db: Database, entry: RequestEntry, agent: Place, seq: Place, reply: string | null): boolean =>
  db.run(INSERT, entry.key, digestOf(entry), agent, seq, reply, entry.keepUntil).changes !== 0;

function replace(db: Database, entry: RequestEntry, agent: Place, seq: Place, reply: string | null): void {
  db.run(REPLACE, digestOf(entry), agent, seq, reply, entry.keepUntil, entry.key);
}

/** A row without a digest was restored from plain files or from an older database: its request is not known. */
function assertSame({ digest }: HeldRow, entry: RequestEntry): void {
  if (digest === null || digest === digestOf(entry)) return;
  throw new RefusedChange("conflict", "The key belongs to another request.");
}
