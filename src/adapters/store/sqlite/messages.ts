/**
 * The tables `messages` and `dedupe`: the inbox. A message's sequence comes from the agent's own row, never from a clock
 * (M3); a dedupe key recognises a message that was accepted before (M5).
 */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import type { AgentId, RunId } from "../../../core/ids.ts";
import { isFromPerson, isUrgent } from "../../../core/message/message-order.ts";
import type { Op, OpResult, Recipient } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { FORGOTTEN_KEYS, forgottenKey } from "../forgotten-key.ts";
import { type MessageRow, messageOf } from "../rows.ts";
import { type Applying, type CachedAgent, claim, isRemoved, ownerOf, touch } from "./agent-cache.ts";
import { insertAgent } from "./agents.ts";
import type { Database } from "./database.ts";
import { isLive } from "./nodes.ts";
import { RefusedChange } from "./refused.ts";
import { enterRequest, repeatedRequest } from "./requests.ts";

const COLUMNS =
  "messages.seq, messages.state, messages.accepted_at, messages.settled_at, messages.run_id, messages.reason, messages.message";
const SELECT = `SELECT ${COLUMNS}
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq = ?`;
const SELECT_BACK = `SELECT ${COLUMNS}
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq < ? AND (? IS NULL OR messages.state IN (SELECT value FROM json_each(?)))
ORDER BY messages.seq DESC LIMIT ?`;
const SELECT_WAITING = `SELECT ${COLUMNS}
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq > max(agents.cursor, ?) AND messages.state = 'waiting'
ORDER BY messages.seq LIMIT ?`;
const SELECT_WAITING_URGENT = `SELECT ${COLUMNS}
FROM messages JOIN agents ON agents.no = messages.agent
WHERE agents.id = ? AND messages.seq > ? AND messages.urgent = 1 AND messages.state = 'waiting'
ORDER BY messages.seq LIMIT ?`;
const SELECT_UNANSWERED = `SELECT agents.id AS agent_id, ${COLUMNS}
FROM messages JOIN agents ON agents.no = messages.agent
WHERE messages.state IN ('dropped', 'failed', 'aborted', 'discarded') AND messages.state IN (SELECT value FROM json_each(?))
  AND (messages.settled_at, messages.n) < (?, coalesce((SELECT n FROM messages AS earlier
    WHERE earlier.agent = (SELECT no FROM agents WHERE id = ?) AND earlier.seq = ?), 0))
ORDER BY messages.settled_at DESC, messages.n DESC LIMIT ?`;
const SELECT_FIRST_WAITING =
  "SELECT seq FROM messages WHERE agent = ? AND seq > ? AND state = 'waiting' ORDER BY seq LIMIT 1";
const SELECT_WAITING_RESET = `SELECT seq FROM messages
WHERE agent = ? AND seq > ? AND urgent = 1 AND state = 'waiting' AND message ->> '$.body.kind' = 'reset'
LIMIT 1`;
const INSERT =
  "INSERT INTO messages (agent, seq, state, urgent, accepted_at, message) VALUES (?, ?, 'waiting', ?, ?, ?)";
const TAKE = "UPDATE messages SET state = 'taken', run_id = ? WHERE agent = ? AND seq = ? AND state = 'waiting'";
const SETTLE = `UPDATE messages SET state = ?, run_id = coalesce(?, run_id), reason = ?, settled_at = ?
WHERE agent = ? AND seq = ? AND state = ?`;
const REPLACE = "UPDATE messages SET message = ? WHERE agent = ? AND seq = ? AND state = 'waiting'";
const SELECT_DEDUPE =
  "SELECT agents.id AS agent_id, dedupe.seq FROM dedupe JOIN agents ON agents.no = dedupe.agent WHERE dedupe.key = ?";
const SELECT_FORGOTTEN = "SELECT 1 AS found FROM dedupe WHERE key >= ? AND key < ? LIMIT 1";
const INSERT_DEDUPE = "INSERT INTO dedupe (key, agent, seq, keep_until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export function messageReads(db: Database): Pick<StoreReader, "message" | "messages" | "waiting" | "unanswered"> {
  return {
    unanswered: async ({ limit, states, before }) => {
      const { at = Number.MAX_SAFE_INTEGER, agentId = "", seq = 0 } = before ?? {};
      const rows = db.all<MessageRow & { agent_id: AgentId }>(
        SELECT_UNANSWERED,
        JSON.stringify(states),
        at,
        agentId,
        seq,
        limit,
      );
      return rows.map((row) => messageOf(row.agent_id, row));
    },
    message: async (agentId, seq) => {
      const row = db.get<MessageRow>(SELECT, agentId, seq);
      return row && messageOf(agentId, row);
    },
    messages: async (agentId, { beforeSeq = Number.MAX_SAFE_INTEGER, limit, states }) => {
      const filter = states ? JSON.stringify(states) : null;
      const rows = db.all<MessageRow>(SELECT_BACK, agentId, beforeSeq, filter, filter, limit);
      return rows.map((row) => messageOf(agentId, row));
    },
    waiting: async (agentId, { afterSeq = 0, limit, urgent }) => {
      const rows = db.all<MessageRow>(urgent ? SELECT_WAITING_URGENT : SELECT_WAITING, agentId, afterSeq, limit);
      return rows.map((row) => messageOf(agentId, row));
    },
  };
}

/** False if the key is there already. */
const insertDedupe = (db: Database, key: string, agent: number, seq: number, keepUntil: number): boolean =>
  db.run(INSERT_DEDUPE, key, agent, seq, keepUntil).changes !== 0;

/** Whether the message waited and is now taken. */
const takeMessage = (db: Database, agent: number, seq: number, runId: RunId): boolean =>
  db.run(TAKE, runId, agent, seq).changes === 1;

/** Puts a message into an inbox, or recognises one that was accepted before (M5). */
export function postMessage(applying: Applying, op: OpOf<"message.post">): OpResult {
  const { db, agents, change } = applying;
  const found = "agentId" in op.to ? agents.get(op.to.agentId) : agents.byKey(op.to.sessionKey);
  if (!found && op.dedupe) {
    const before = acceptedBefore(db, op.dedupe.key) ?? acceptedFromForgotten(db, op.dedupe.key);
    if (before) return before;
  }
  if (!found && op.request) {
    const before = repeatedRequest(applying, op.request);
    if (before) return before;
  }
  if (found && isRemoved(found)) throw new RefusedChange("missing", `Agent ${found.id} was removed.`);
  const agent = found ?? insertAgent(applying, seedOf(op.to));
  const { body, acceptedAt } = op.message;
  const seq = agent.next_seq;
  const forgotten = op.dedupe && acceptedFromForgotten(db, op.dedupe.key);
  if (forgotten) return forgotten;
  if (op.dedupe && !insertDedupe(db, op.dedupe.key, agent.no, seq, op.dedupe.keepUntil)) {
    const before = acceptedBefore(db, op.dedupe.key);
    if (before) return before;
  }
  const repeated = op.request && enterRequest(applying, op.request, agent, seq);
  if (repeated) return repeated;
  if (agent.waiting >= (op.maxWaiting ?? agent.waiting + 1)) throw queueFull(agent);
  db.run(INSERT, agent.no, seq, isUrgent(body) ? 1 : 0, acceptedAt, JSON.stringify(op.message));
  agent.next_seq += 1;
  agent.waiting += 1;
  if (isFromPerson(body)) agent.last_user_seq = seq;
  touch(applying, agent, "inbox");
  if (body.kind === "user" && agent.kind === "user")
    agent.last_human_at = Math.max(agent.last_human_at ?? 0, acceptedAt);
  if (op.claimFor !== undefined) claim(applying, agent, op.claimFor);
  const { node, epoch } = agent;
  const isHeld = node !== null && (node === op.claimFor || isLive(db, node, change.at));
  const holder = isHeld ? { node, epoch } : undefined;
  const alone = agent.waiting === 1 || undefined;
  return { op: "message.post", agentId: agent.id, seq, duplicate: false, created: !found, holder, alone };
}

const queueFull = ({ id, waiting }: CachedAgent): RefusedChange =>
  new RefusedChange("full", `${waiting} messages wait at agent ${id}, as many as may wait.`);

function acceptedBefore(db: Database, key: string): OpResult | undefined {
  const row = db.get<{ agent_id: AgentId; seq: number }>(SELECT_DEDUPE, key);
  return row && { op: "message.post", agentId: row.agent_id, seq: row.seq, duplicate: true, created: false };
}

/** A message of someone who is forgotten, delivered once more. Mostly there are no such keys, which one look at the index tells. */
const acceptedFromForgotten = (db: Database, key: string): OpResult | undefined =>
  db.get(SELECT_FORGOTTEN, ...FORGOTTEN_KEYS) ? acceptedBefore(db, forgottenKey(key)) : undefined;

function seedOf(to: Recipient): AgentSeed {
  if ("create" in to && to.create) return to.create;
  throw new RefusedChange("missing", `There is no agent ${"agentId" in to ? to.agentId : to.sessionKey}.`);
}

export function takeMessages(applying: Applying, op: OpOf<"message.take">): undefined {
  const { db } = applying;
  const owner = ownerOf(applying);
  const seen = op.unlessResetAfter;
  if (seen !== undefined && owner.next_seq > seen + 1) {
    const reset = db.get<{ seq: number }>(SELECT_WAITING_RESET, owner.no, seen);
    if (reset) throw new RefusedChange("conflict", `Message ${reset.seq} of ${owner.id} is a reset and goes first.`);
  }
  for (const seq of op.seqs) {
    if (!takeMessage(db, owner.no, seq, op.runId))
      throw new RefusedChange("conflict", `Message ${seq} of ${owner.id} is not waiting.`);
    owner.waiting -= 1;
  }
  advanceCursor(db, owner);
  touch(applying, owner, "inbox");
}

export function settleMessages(applying: Applying, op: OpOf<"message.settle">): undefined {
  const { db, change } = applying;
  const owner = ownerOf(applying);
  let waited = false;
  for (const { seq, from, state, runId, reason } of op.settlements) {
    const { changes } = db.run(SETTLE, state, runId ?? null, reason ?? null, change.at, owner.no, seq, from);
    if (changes !== 1) throw new RefusedChange("conflict", `Message ${seq} of ${owner.id} is not ${from}.`);
    if (from === "taken") continue;
    owner.waiting -= 1;
    waited = true;
  }
  if (waited) advanceCursor(db, owner);
  touch(applying, owner, "inbox");
}

export function countTry(applying: Applying, { seq, message }: OpOf<"message.tried">): undefined {
  const owner = ownerOf(applying);
  const { changes } = applying.db.run(REPLACE, JSON.stringify(message), owner.no, seq);
  if (changes !== 1) throw new RefusedChange("conflict", `Message ${seq} of ${owner.id} is not waiting.`);
  touch(applying, owner, "inbox");
}

/** A person drops a message that waits. The agent's holder finds it gone when it next reads its inbox. */
export function dropMessage(applying: Applying, { agentId, seq, reason }: OpOf<"message.drop">): undefined {
  const { db, agents, change } = applying;
  const agent = agents.get(agentId);
  const { changes } = db.run(SETTLE, "dropped", null, reason, change.at, agent.no, seq, "waiting");
  if (changes !== 1) throw new RefusedChange("conflict", `Message ${seq} of ${agentId} is not waiting.`);
  agent.waiting -= 1;
  advanceCursor(db, agent);
  touch(applying, agent, "inbox");
}

/** Call it after messages left the waiting state. No message at or below the cursor waits. */
function advanceCursor(db: Database, agent: CachedAgent): void {
  if (agent.waiting === 0) {
    agent.cursor = agent.next_seq - 1;
    return;
  }
  const first = db.get<{ seq: number }>(SELECT_FIRST_WAITING, agent.no, agent.cursor);
  agent.cursor = (first?.seq ?? agent.next_seq) - 1;
}
