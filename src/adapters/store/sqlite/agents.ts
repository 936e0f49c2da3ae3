/** The tables `agents` and `session_keys`: reads, and the ops that create, describe, stop and remove an agent. */
import type { AgentSeed, StopMark } from "../../../core/agent/agent.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentId, SessionKey } from "../../../core/ids.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type AgentRow, agentOf, readablePage } from "../rows.ts";
import { type Applying, type CachedAgent, isRemoved, ownerOf, stoppedBy, stopSeqOf, touch } from "./agent-cache.ts";
import { withdrawOpen } from "./approvals.ts";
import type { Database } from "./database.ts";
import { insertEntry, removeEntries } from "./entries.ts";
import { RefusedChange } from "./refused.ts";

export const AGENT_COLUMNS = `no, id, session_key, profile, person, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch,
  last_human_at, stopped, suspended, state`;
const NOT_REMOVED = "coalesce(stopped ->> 'removed', 0) = 0";
const SELECT = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE id = ?`;
const SELECT_BY_KEY = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE no = (SELECT agent FROM session_keys WHERE key = ?)`;
const SELECT_PAGE = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE no > coalesce((SELECT no FROM agents WHERE id = ?), 0) AND ${NOT_REMOVED} ORDER BY no LIMIT ?`;
const SELECT_NEWEST = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE no < coalesce((SELECT no FROM agents WHERE id = ?), 9223372036854775807) AND ${NOT_REMOVED}
ORDER BY no DESC LIMIT ?`;
const SELECT_ROOTS = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE parent IS NULL AND no < coalesce((SELECT no FROM agents WHERE id = ?), 9223372036854775807)
  AND ${NOT_REMOVED}
ORDER BY no DESC LIMIT ?`;
const SELECT_BUSY = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE (waiting > 0 OR (run_id IS NOT NULL AND suspended = 0)) AND no > coalesce((SELECT no FROM agents WHERE id = ?), 0) ORDER BY no LIMIT ?`;
const SELECT_CHILDREN = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE parent = ? AND no > coalesce((SELECT no FROM agents WHERE id = ?), 0) AND ${NOT_REMOVED}
ORDER BY no LIMIT ?`;
const SELECT_OF_KIND = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE kind = ? AND no > coalesce((SELECT no FROM agents WHERE id = ?), 0) AND ${NOT_REMOVED}
ORDER BY no LIMIT ?`;
const SELECT_MOST_RECENT_FOREGROUND = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE kind = 'user' AND last_human_at IS NOT NULL ORDER BY last_human_at DESC, no DESC LIMIT ?`;
const SELECT_RECENT_BEFORE = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE kind = 'user' AND last_human_at IS NOT NULL
  AND (last_human_at, no) < (CAST(? AS INTEGER), coalesce((SELECT no FROM agents WHERE id = ?), 0))
ORDER BY last_human_at DESC, no DESC LIMIT ?`;
const SELECT_MOST_RECENT_HEARTBEAT = `SELECT ${AGENT_COLUMNS}
FROM agents WHERE kind = 'heartbeat' AND ${NOT_REMOVED} ORDER BY no DESC LIMIT ?`;
const INSERT = `INSERT INTO agents (id, session_key, profile, person, kind, parent, descriptor, created_at, session_id, next_seq, cursor,
  waiting, next_pos, leaf, run_id, node, epoch, last_human_at, stopped, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, ?, ?, NULL, NULL, 0, NULL, NULL, ?)`;
const INSERT_SESSION_KEY = "INSERT INTO session_keys (key, agent) VALUES (?, ?)";
const REMOVE_SESSION_KEY = "DELETE FROM session_keys WHERE agent = ?";
const UPDATE_DESCRIPTOR = "UPDATE agents SET descriptor = ? WHERE no = ?";
const REMOVE_MESSAGES = "DELETE FROM messages WHERE agent = ?";
const REMOVE_RUNS = "DELETE FROM runs WHERE agent = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

type AgentReads =
  | "agent"
  | "agentByKey"
  | "agentFor"
  | "agents"
  | "agentsOfKind"
  | "busyAgents"
  | "children"
  | "recentForeground"
  | "roots";

export function agentReads(db: Database): Pick<StoreReader, AgentReads> {
  const one = (text: string, value: string) => {
    const row = db.get<AgentRow>(text, value);
    return row && agentOf(row);
  };
  const page = (text: string, limit: number, ...values: (string | null)[]) =>
    readablePage(limit, agentOf, (asked) => db.all<AgentRow>(text, ...values, asked));
  return {
    agent: async (id) => one(SELECT, id),
    agentByKey: async (key) => one(SELECT_BY_KEY, key),
    agentFor: async (strategy) =>
      (await page(strategy === "heartbeat" ? SELECT_MOST_RECENT_HEARTBEAT : SELECT_MOST_RECENT_FOREGROUND, 1))[0],
    agents: ({ after, limit, newest }) => page(newest ? SELECT_NEWEST : SELECT_PAGE, limit, after ?? null),
    agentsOfKind: (kind, { after, limit }) => page(SELECT_OF_KIND, limit, kind, after ?? null),
    busyAgents: ({ after, limit }) => page(SELECT_BUSY, limit, after ?? null),
    children: (agentId, { after, limit }) => page(SELECT_CHILDREN, limit, agentId, after ?? null),
    recentForeground: ({ limit, before }) =>
      before
        ? page(SELECT_RECENT_BEFORE, limit, String(before.at), before.agentId)
        : page(SELECT_MOST_RECENT_FOREGROUND, limit),
    roots: ({ after, limit }) => page(SELECT_ROOTS, limit, after ?? null),
  };
}

export function insertSessionKey(db: Database, key: SessionKey, agent: number): void {
  db.run(INSERT_SESSION_KEY, key, agent);
}

/** Creates an agent, or returns the one that already has its session key, so that a race creates only one. */
export function createAgent(applying: Applying, { seed, fresh }: OpOf<"agent.create">): OpResult {
  const taken = applying.agents.byKey(seed.sessionKey);
  if (taken && fresh) throw new RefusedChange("conflict", `The session key ${seed.sessionKey} is taken.`);
  if (taken) return { op: "agent.create", agentId: taken.id, created: false };
  return { op: "agent.create", agentId: insertAgent(applying, seed).id, created: true };
}

/** Writes a new agent with the first lines of its history. Refused if an ancestor is stopped (M20). */
export function insertAgent(applying: Applying, seed: AgentSeed): CachedAgent {
  const { db, agents } = applying;
  const { descriptor } = seed;
  const parent = descriptor.type === "subagent" ? (descriptor.parentAgentId as AgentId) : null;
  if (parent !== null) {
    const stopped = stoppedBy(db, { id: seed.id, parent, stopped: null });
    if (stopped) throw new RefusedChange("stopped", `Agent ${stopped} was stopped.`);
  }
  const { lastInsertRowid } = db.run(
    INSERT,
    seed.id,
    seed.sessionKey,
    seed.profile,
    seed.person ?? null,
    descriptor.type,
    parent,
    JSON.stringify(descriptor),
    seed.createdAt,
    seed.sessionId,
    seed.lines.length,
    seed.leaf,
    JSON.stringify(seed.state),
  );
  const no = Number(lastInsertRowid);
  insertSessionKey(db, seed.sessionKey, no);
  for (const [position, line] of seed.lines.entries()) insertEntry(db, no, position, line);
  const agent = agents.get(seed.id);
  touch(applying, agent, "inbox");
  return agent;
}

/** The descriptor is written once; only a permanent agent may be described again. */
export function describeAgent(applying: Applying, { descriptor }: OpOf<"agent.describe">): undefined {
  const owner = ownerOf(applying);
  if (owner.kind !== "permanent" || descriptor.type !== "permanent") {
    throw new RefusedChange("conflict", `Agent ${owner.id} is of the kind ${owner.kind}: its descriptor is final.`);
  }
  applying.db.run(UPDATE_DESCRIPTOR, JSON.stringify(descriptor), owner.no);
  touch(applying, owner, "inbox");
}

/** Sets or clears a stop mark. Everything with a lower sequence came before it. */
export function stopAgent(applying: Applying, op: OpOf<"agent.stop">): undefined {
  const agent = applying.agents.get(op.agentId);
  if (isRemoved(agent)) throw new RefusedChange("missing", `Agent ${agent.id} was removed.`);
  if (op.ifSeq !== undefined && stopSeqOf(agent) !== op.ifSeq) {
    throw new RefusedChange("conflict", `Agent ${agent.id} has another stop mark than the one of ${op.ifSeq}.`);
  }
  agent.stopped = op.mark === null ? null : JSON.stringify({ ...op.mark, seq: agent.next_seq });
  touch(applying, agent, "all");
}

/**
 * Removes an idle agent. Its row stays, with its parent and a mark, so that its children still find their ancestors;
 * everything else is deleted. The epoch rises, so that the node that held it is fenced.
 */
export function removeAgent(applying: Applying, op: OpOf<"agent.remove">): undefined {
  const { db, agents, change } = applying;
  const agent = agents.get(op.agentId);
  if (isRemoved(agent)) return;
  if (agent.waiting > 0 || agent.run_id !== null) {
    throw new RefusedChange("conflict", `Agent ${agent.id} is busy: ${agent.waiting} waiting, run ${agent.run_id}.`);
  }
  const mark: StopMark = { at: change.at, reason: op.reason, seq: agent.next_seq, removed: true };
  agent.stopped = JSON.stringify(mark);
  agent.node = null;
  agent.epoch += 1;
  agent.last_human_at = null;
  db.run(REMOVE_SESSION_KEY, agent.no);
  if (!op.keep) {
    agent.state = JSON.stringify(freshState(change.at));
    agent.next_pos = 0;
    removeEntries(db, agent.no);
    db.run(REMOVE_MESSAGES, agent.no);
    db.run(REMOVE_RUNS, agent.no);
  }
  withdrawOpen(db, change.at, op.reason, agent.id);
  agents.unkey(agent);
  touch(applying, agent, "all");
}

export function beginSession(applying: Applying, { sessionId }: OpOf<"session.begin">): undefined {
  const owner = ownerOf(applying);
  owner.session_id = sessionId;
  touch(applying, owner, "all");
}
