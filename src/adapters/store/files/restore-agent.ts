/** Makes one agent in the database from its files: its row, its history, and all pending work in its stored state. */
import { isUrgent } from "../../../core/message/message-order.ts";
import { insertSessionKey } from "../sqlite/agents.ts";
import { restoreApproval } from "../sqlite/approvals.ts";
import type { Database } from "../sqlite/database.ts";
import type { AgentFiles, PendingFile } from "./read-agent-files.ts";
import type { RestoreContext } from "./restore-context.ts";
import { restoreHistory } from "./restore-history.ts";

const INSERT_AGENT = `INSERT INTO agents (id, session_key, profile, person, kind, parent, descriptor, created_at, session_id, next_seq, cursor, waiting, next_pos, leaf,
  run_id, node, epoch, last_human_at, stopped, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, ?, ?, ?)`;
const UPDATE_COUNTERS =
  "UPDATE agents SET session_id = ?, next_seq = ?, cursor = ?, waiting = ?, next_pos = ?, leaf = ?, run_id = ? WHERE no = ?";
const INSERT_MESSAGE =
  "INSERT INTO messages (agent, seq, state, urgent, accepted_at, run_id, message) VALUES (?, ?, ?, ?, ?, ?, ?)";
const INSERT_DEDUPE = "INSERT OR IGNORE INTO dedupe (key, agent, seq, keep_until) VALUES (?, ?, ?, ?)";
const INSERT_REQUEST = "INSERT OR IGNORE INTO requests (key, agent, seq, keep_until) VALUES (?, ?, ?, ?)";
/** Keys of HTTP requests, which have a table of their own (M18). */
const REQUEST_KEY = /^(?:api|hook):/;
const INSERT_RUN =
  "INSERT INTO runs (id, agent, session_id, state, attempt, step, started_at, abort, body) VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?)";
const INSERT_DELIVERY = `INSERT INTO deliveries (id, agent, run_id, state, attempts, next_at, created_at, reason, target, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export interface RestoredCounts {
  readonly entries: number;
  readonly waiting: number;
  readonly dedupeKeys: number;
}

/** Writes the agent's rows inside the caller's transaction. Throws SQLite's errors, for instance if a key is taken twice. */
export function restoreAgent(context: RestoreContext, agent: AgentFiles): RestoredCounts {
  const { db } = context;
  const { pending } = agent;
  const { engine } = agent.state;
  // The row comes first, because lines refer to it; its counters follow when the lines are known.
  const no = insertAgent(db, agent);
  insertSessionKey(db, engine.sessionKey, no);
  const history = restoreHistory(context, agent.paths.history, no);
  const nextSeq = Math.max(pending?.nextSeq ?? 1, history.lastSeq + 1);
  const inbox = restoreMessages(db, no, pending?.messages ?? [], history.seqs);
  if (pending?.run) insertRun(db, no, pending.run);
  for (const delivery of pending?.deliveries ?? []) insertDelivery(db, no, delivery);
  for (const approval of pending?.approvals ?? []) insertApproval(db, approval);
  for (const [key, seq, keepUntil] of pending?.dedupe ?? []) {
    db.run(REQUEST_KEY.test(key) ? INSERT_REQUEST : INSERT_DEDUPE, key, no, seq, keepUntil);
  }
  const leaf = pending && pending.nextPos === history.lines ? pending.leaf : history.lastId;
  db.run(
    UPDATE_COUNTERS,
    history.sessionId ?? engine.sessionId,
    nextSeq,
    Math.min(inbox.firstWaiting ?? nextSeq, nextSeq) - 1,
    inbox.waiting,
    history.lines,
    leaf,
    pending?.run?.id ?? null,
    no,
  );
  return { entries: history.lines, waiting: inbox.waiting, dedupeKeys: pending?.dedupe.length ?? 0 };
}

function insertAgent(db: Database, { id, descriptor, pending, state: { state, engine } }: AgentFiles): number {
  const { lastInsertRowid } = db.run(
    INSERT_AGENT,
    id,
    engine.sessionKey,
    engine.profile,
    engine.person ?? null,
    descriptor.type,
    descriptor.type === "subagent" ? descriptor.parentAgentId : null,
    JSON.stringify(descriptor),
    engine.createdAt,
    engine.sessionId,
    1,
    0,
    0,
    0,
    "",
    null,
    pending?.lastHumanAt ?? null,
    engine.stopped ? JSON.stringify(engine.stopped) : null,
    JSON.stringify(state),
  );
  return Number(lastInsertRowid);
}

/** `inHistory`: the history is written before `pending.json`, so a message that is in both was taken. */
function restoreMessages(
  db: Database,
  no: number,
  messages: PendingFile["messages"],
  inHistory: ReadonlySet<number>,
): { readonly waiting: number; readonly firstWaiting: number | undefined } {
  let waiting = 0;
  let firstWaiting: number | undefined;
  for (const { seq, state, runId, message } of messages) {
    const taken = state === "taken" || inHistory.has(seq);
    db.run(
      INSERT_MESSAGE,
      no,
      seq,
      taken ? "taken" : "waiting",
      isUrgent(message.body) ? 1 : 0,
      message.acceptedAt,
      runId ?? null,
      JSON.stringify(message),
    );
    if (taken) continue;
    waiting += 1;
    firstWaiting = Math.min(firstWaiting ?? seq, seq);
  }
  return { waiting, firstWaiting };
}

function insertRun(db: Database, no: number, run: NonNullable<PendingFile["run"]>): void {
  db.run(
    INSERT_RUN,
    run.id,
    no,
    run.sessionId,
    run.attempt,
    run.step,
    run.startedAt,
    run.abort === undefined ? null : JSON.stringify(run.abort),
    JSON.stringify(run.body),
  );
}

function insertDelivery(db: Database, no: number, delivery: PendingFile["deliveries"][number]): void {
  db.run(
    INSERT_DELIVERY,
    delivery.id,
    no,
    delivery.runId ?? null,
    delivery.state,
    delivery.attempts,
    delivery.nextAt,
    delivery.createdAt,
    delivery.reason ?? null,
    JSON.stringify(delivery.target),
    JSON.stringify(delivery.payload),
  );
}

function insertApproval(db: Database, approval: NonNullable<PendingFile["approvals"]>[number]): void {
  const { state, decidedAt, decidedBy, surface, reason, shown, ...asked } = approval;
  restoreApproval(db, {
    id: asked.id,
    agent: asked.agentId,
    run_id: asked.runId,
    call_id: asked.callId,
    person: asked.behalf.person,
    digest: asked.digest,
    state,
    due_at: asked.dueAt,
    decided_at: decidedAt ?? null,
    decided_by: decidedBy ?? null,
    surface: surface ?? null,
    reason: reason ?? null,
    // An approved one is answered: a send that arrives later does not count.
    shown: shown ?? (state === "approved" ? -1 : 0),
    record: JSON.stringify(asked),
  });
}
