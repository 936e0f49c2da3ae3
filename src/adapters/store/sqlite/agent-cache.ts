/**
 * The rows of agents while changes are applied: read once, changed in memory, written once per group, and kept for the next
 * group, so that a warm agent costs no read. Counters and ownership are compared and changed only here (M3, M10, M20).
 */
import type { SQLInputValue } from "node:sqlite";
import type { StopMark } from "../../../core/agent/agent.ts";
import type { AgentId, RunId, SessionId, SessionKey } from "../../../core/ids.ts";
import type { Change, Op, OpResult } from "../../../core/store/change.ts";
import type { Database } from "./database.ts";
import { isLive } from "./nodes.ts";
import { RefusedChange } from "./refused.ts";

const COLUMNS =
  "no, id, session_key, kind, parent, session_id, next_seq, cursor, waiting, next_pos, leaf, run_id, node, epoch, last_human_at, last_user_seq, stopped, suspended";
const SELECT_BY_ID = `SELECT ${COLUMNS}
FROM agents WHERE id = ?`;
const SELECT_BY_KEY = `SELECT ${COLUMNS}
FROM agents WHERE no = (SELECT agent FROM session_keys WHERE key = ?)`;
const SELECT_BY_NO = `SELECT ${COLUMNS}
FROM agents WHERE no = ?`;
/** The columns of the inbox, those of a whole row, and the state. */
const SET = {
  inbox: "next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_user_seq = ?",
  all: `next_seq = ?, cursor = ?, waiting = ?, node = ?, epoch = ?, last_user_seq = ?,
    session_id = ?, next_pos = ?, leaf = ?, run_id = ?, stopped = ?, suspended = ?`,
} as const;
const STATE = ", state = ?";
/** SQLite writes the entries of an index again when an indexed column is set, even to the value it has. */
const HUMAN = ", last_human_at = ?";
const UPDATES = {
  inbox: [`UPDATE agents SET ${SET.inbox} WHERE no = ?`, `UPDATE agents SET ${SET.inbox}${HUMAN} WHERE no = ?`],
  all: [`UPDATE agents SET ${SET.all} WHERE no = ?`, `UPDATE agents SET ${SET.all}${HUMAN} WHERE no = ?`],
  state: [
    `UPDATE agents SET ${SET.all}${STATE} WHERE no = ?`,
    `UPDATE agents SET ${SET.all}${STATE}${HUMAN} WHERE no = ?`,
  ],
} as const;
const SELECT_CLAIMABLE = `SELECT no FROM agents
WHERE (waiting > 0 OR (run_id IS NOT NULL AND suspended = 0))
  AND no > ?
  AND (node IS NULL OR node = ? OR node NOT IN (SELECT node FROM nodes WHERE gone <> 1 AND lease_until > ?))
ORDER BY no LIMIT ?`;

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export interface CachedAgent {
  readonly no: number;
  readonly id: AgentId;
  readonly kind: string;
  readonly parent: AgentId | null;
  readonly session_key: SessionKey;
  session_id: SessionId;
  next_seq: number;
  cursor: number;
  waiting: number;
  next_pos: number;
  leaf: string;
  run_id: RunId | null;
  node: number | null;
  epoch: number;
  last_human_at: number | null;
  /** As it is in the stored row. */
  stored_human_at: number | null;
  /** The sequence of the latest message of a person (M18). */
  last_user_seq: number;
  stopped: string | null;
  /** 1 while its run waits for a person (M31). */
  suspended: number;
  /** The new state as JSON, if the change brings one. */
  state?: string;
  /** What must be written: nothing, the inbox's columns, or all. */
  dirty: "no" | "inbox" | "all";
}

/** What the ops of one change share. */
export interface Applying {
  readonly db: Database;
  readonly change: Change;
  readonly agents: AgentCache;
  /** The owner's row; ops that act on the owner refuse the change if it is missing. */
  readonly owner: CachedAgent | undefined;
  /** What the change touched, for the change log: agent numbers, and words such as `subagents`, `budgets`, `job:<id>`. */
  readonly touched: Set<number | string>;
  /** A message of the change was accepted before. */
  isRepeated: boolean;
}

/** How many rows stay cached between groups. This process is the only writer, so a cached row equals the stored one. */
const MAX_CACHED = 10_000;

export class AgentCache {
  readonly #db: Database;
  readonly #byId = new Map<string, CachedAgent>();
  readonly #byNo = new Map<number, CachedAgent>();
  readonly #byKey = new Map<string, CachedAgent>();
  readonly #dirty = new Set<CachedAgent>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** The row of an agent; refuses the change if there is none. */
  get(id: AgentId): CachedAgent {
    const agent = this.find(id);
    if (!agent) throw new RefusedChange("missing", `There is no agent ${id}.`);
    return agent;
  }

  find(id: AgentId): CachedAgent | undefined {
    return this.#byId.get(id) ?? this.#add(this.#db.get(SELECT_BY_ID, id));
  }

  byKey(key: SessionKey): CachedAgent | undefined {
    const agent = this.#byKey.get(key) ?? this.#add(this.#db.get(SELECT_BY_KEY, key));
    // Only a row found by its key is indexed by it: a removed agent's row still has the key it had.
    if (agent) this.#byKey.set(key, agent);
    return agent;
  }

  byNumber(no: number): CachedAgent {
    const agent = this.#byNo.get(no) ?? this.#add(this.#db.get(SELECT_BY_NO, no));
    if (!agent) throw new RefusedChange("missing", `There is no agent number ${no}.`);
    return agent;
  }

  /** Marks a row as changed, and how much of it. */
  touch(agent: CachedAgent, what: "inbox" | "all"): void {
    if (agent.dirty !== "all") agent.dirty = what;
    this.#dirty.add(agent);
  }

  /** After an agent is removed, its session key leads to no agent until another one takes the key. */
  unkey(agent: CachedAgent): void {
    if (this.#byKey.get(agent.session_key) === agent) this.#byKey.delete(agent.session_key);
  }

  /** After a row was written without the cache: it is read again with its next use. */
  drop(agent: CachedAgent): void {
    this.unkey(agent);
    this.#byId.delete(agent.id);
    this.#byNo.delete(agent.no);
    this.#dirty.delete(agent);
  }

  /** Writes every changed row, once: at a group's end, and before a statement that selects many rows. */
  write(): void {
    for (const agent of this.#dirty) {
      writeRow(this.#db, agent);
      agent.dirty = "no";
      agent.state = undefined;
    }
    this.#dirty.clear();
  }

  /** Empties a cache that is too large. Call it between groups only: a change in progress holds rows. */
  trim(): void {
    if (this.#byId.size > MAX_CACHED) this.clear();
  }

  /** Drops all rows: after a rollback they may differ from the stored ones (M2). */
  clear(): void {
    this.#byId.clear();
    this.#byNo.clear();
    this.#byKey.clear();
    this.#dirty.clear();
  }

  #add(row: CachedAgent | undefined): CachedAgent | undefined {
    if (!row) return undefined;
    const cached = this.#byId.get(row.id);
    if (cached) return cached;
    row.dirty = "no";
    row.stored_human_at = row.last_human_at;
    this.#byId.set(row.id, row);
    this.#byNo.set(row.no, row);
    return row;
  }
}

function writeRow(db: Database, a: CachedAgent): void {
  const values: SQLInputValue[] = [a.next_seq, a.cursor, a.waiting, a.node, a.epoch, a.last_user_seq];
  if (a.dirty === "all") values.push(a.session_id, a.next_pos, a.leaf, a.run_id, a.stopped, a.suspended);
  const hasState = a.dirty === "all" && a.state !== undefined;
  if (hasState) values.push(a.state ?? null);
  const isHumanNew = a.last_human_at !== a.stored_human_at;
  if (isHumanNew) values.push(a.last_human_at);
  const [without, withHuman] = UPDATES[hasState ? "state" : a.dirty === "inbox" ? "inbox" : "all"];
  db.run(isHumanNew ? withHuman : without, ...values, a.no);
  a.stored_human_at = a.last_human_at;
}

/** Records that a change touched an agent, and how much of its row must be written. */
export function touch({ agents, touched }: Applying, agent: CachedAgent, what: "inbox" | "all"): void {
  agents.touch(agent, what);
  touched.add(agent.no);
}

/** The owner's row, for ops that act on it. */
export function ownerOf(applying: Applying): CachedAgent {
  if (applying.owner) return applying.owner;
  throw new RefusedChange("fenced", `The change at ${applying.change.site} names no owner.`);
}

const markOf = ({ stopped }: CachedAgent): StopMark | undefined =>
  stopped === null ? undefined : (JSON.parse(stopped) as StopMark);

/** Whether an agent was removed, which is final. */
export const isRemoved = (agent: CachedAgent): boolean => markOf(agent)?.removed === true;

/** The sequence of the stop mark in place. */
export const stopSeqOf = (agent: CachedAgent): number | undefined => markOf(agent)?.seq;

/** The agent whose stop mark forbids this one to continue: itself or the nearest stopped ancestor (M20). */
export function stoppedBy(
  { agentCache }: Database,
  agent: Pick<CachedAgent, "id" | "parent" | "stopped">,
): AgentId | undefined {
  if (agent.stopped !== null) return agent.id;
  let { parent } = agent;
  for (let depth = 0; parent !== null && depth < 64; depth++) {
    // Through the cache: a stop of the same group is not written yet.
    const ancestor = agentCache.find(parent);
    if (!ancestor) return undefined;
    if (ancestor.stopped !== null) return parent;
    parent = ancestor.parent;
  }
  return undefined;
}

/** Gives an agent to a node unless another live node holds it. Each change of owner raises the epoch. */
export function claim(applying: Applying, agent: CachedAgent, node: number): boolean {
  if (agent.node === node) return true;
  if (agent.node !== null && isLive(applying.db, agent.node, applying.change.at)) return false;
  agent.node = node;
  agent.epoch += 1;
  touch(applying, agent, "inbox");
  return true;
}

export function claimAgent(applying: Applying, op: OpOf<"agent.claim">): OpResult {
  const agent = applying.agents.get(op.agentId);
  return { op: "agent.claim", epoch: claim(applying, agent, op.node) ? agent.epoch : undefined };
}

export function claimAgents(applying: Applying, op: OpOf<"agents.claim">): OpResult {
  const { agents, change, db } = applying;
  // The statement reads rows, so rows changed earlier in the group must be written first.
  agents.write();
  const after = op.after === undefined ? 0 : (agents.find(op.after)?.no ?? 0);
  const rows = db.all<{ no: number }>(SELECT_CLAIMABLE, after, op.own ? op.node : -1, change.at, op.limit);
  const claims = rows.map(({ no }) => {
    const agent = agents.byNumber(no);
    claim(applying, agent, op.node);
    return { agentId: agent.id, epoch: agent.epoch };
  });
  return { op: "agents.claim", claims };
}

/** Gives the owner to another node that lives. What waits for it waits for that node. */
export function handAgent(applying: Applying, { to }: OpOf<"agent.hand">): undefined {
  const owner = ownerOf(applying);
  if (!isLive(applying.db, to, applying.change.at)) throw new RefusedChange("missing", `Node ${to} does not live.`);
  owner.node = to;
  owner.epoch += 1;
  touch(applying, owner, "inbox");
}

/** Releases the owner if it is idle or its run is suspended. A message posted in between keeps it held, because the same row counts it (M3). */
export function releaseAgent(applying: Applying): OpResult {
  const owner = ownerOf(applying);
  const idle = owner.waiting === 0 && (owner.run_id === null || owner.suspended === 1);
  if (idle) {
    owner.node = null;
    touch(applying, owner, "inbox");
  }
  return { op: "agent.release", released: idle };
}
