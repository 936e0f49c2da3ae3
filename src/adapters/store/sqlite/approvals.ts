/**
 * The table `approvals`: questions about tool calls, and their answers (M31). A row leaves its state only by comparing it, so
 * that of two answers the first wins and a yes is used once (L4, L13).
 */
import type { ApprovalFilter } from "../../../core/rights/approval.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { APPROVAL_COLUMNS, type ApprovalRow, approvalOf } from "../approval-rows.ts";
import { readablePage } from "../rows.ts";
import { type Applying, ownerOf, touch } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { insertDelivery } from "./deliveries.ts";
import { RefusedChange } from "./refused.ts";

const OPEN = "state IN ('pending', 'approved')";
const SELECT = `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE id = ?`;
const SELECT_DUE = `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE ${OPEN} AND due_at <= ? ORDER BY due_at, n LIMIT ?`;
const SELECT_OPEN_OF_AGENT = `SELECT ${APPROVAL_COLUMNS} FROM approvals INDEXED BY approvals_open WHERE agent = ? AND ${OPEN} ORDER BY n`;
const INSERT = `INSERT INTO approvals (id, agent, run_id, call_id, person, digest, state, due_at, record)
VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)`;
const DECIDE = `UPDATE approvals
SET state = ?1, due_at = coalesce(?2, due_at), ended_at = ?3, decided_at = ?4, decided_by = ?5, surface = ?6, reason = ?7,
  shown = iif(?1 = 'withdrawn', shown, -1)
WHERE id = ?8 AND agent = ?9 AND state = ?10 AND digest = ?11`;
// Appended to the JSON as text: the record may hold characters that JSON functions refuse.
const USE = `UPDATE approvals SET state = 'used', ended_at = ?, record = substr(record, 1, length(record) - 1) || ',"used":' || ? || '}'
WHERE id = ? AND agent = ? AND state = 'approved' AND digest = ? AND due_at > ?`;
const WITHDRAW = `UPDATE approvals INDEXED BY approvals_open
SET state = 'withdrawn', ended_at = ?1, decided_at = ?1, decided_by = 'system', reason = ?2 WHERE agent = ?3 AND id = coalesce(?4, id) AND ${OPEN}`;
const SHOWN =
  "UPDATE approvals SET shown = shown + 1 WHERE id = ? AND agent = ? AND state IN ('pending', 'withdrawn') AND shown >= 0";
const UNTOLD = "state = 'withdrawn' AND shown > 0";
const TOLD = `UPDATE approvals SET shown = -1 WHERE id = ? AND agent = ? AND ${UNTOLD}`;
const WITHDRAW_ALL = `UPDATE approvals SET state = 'withdrawn', ended_at = ?1, decided_at = ?1, decided_by = 'system', reason = ?2
WHERE ${OPEN} AND state IN (SELECT value FROM json_each(?3))`;
const RESTORE = `INSERT INTO approvals (id, agent, run_id, call_id, person, digest, state, due_at, decided_at, decided_by, surface, reason, shown, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;
type ApprovalReads = "approval" | "approvals" | "approvalsDue" | "openApprovals";

export const approvalReads = (db: Database): Pick<StoreReader, ApprovalReads> => ({
  approval: async (id) => {
    const row = db.get<ApprovalRow>(SELECT, id);
    return row && approvalOf(row);
  },
  approvals: (filter) => {
    const { where, values } = conditionsOf(filter);
    const text = `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE ${where} ORDER BY n DESC LIMIT ?`;
    return readablePage(filter.limit, approvalOf, (asked) => db.all<ApprovalRow>(text, ...values, asked));
  },
  approvalsDue: ({ by = Number.MAX_SAFE_INTEGER, limit }) =>
    readablePage(limit, approvalOf, (asked) => db.all<ApprovalRow>(SELECT_DUE, by, asked)),
  openApprovals: async (agentId) => openApprovalRows(db, agentId).map(approvalOf),
});

function conditionsOf({ beforeN, states, agentId, person, untold }: ApprovalFilter) {
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ["n < ?", beforeN],
    ["state IN (SELECT value FROM json_each(?))", states && JSON.stringify(states)],
    ["agent = ?", agentId],
    ["person = ?", person],
  ];
  const used = given.filter((one): one is readonly [string, string | number] => one[1] !== undefined);
  return {
    where: [untold ? UNTOLD : "1", ...used.map(([text]) => text)].join(" AND "),
    values: used.map(([, value]) => value),
  };
}

/** The open rows of an agent, for its plain files. */
export const openApprovalRows = (db: Database, agentId: string): ApprovalRow[] =>
  db.all<ApprovalRow>(SELECT_OPEN_OF_AGENT, agentId);

export function askApproval(applying: Applying, { approval }: OpOf<"approval.ask">): undefined {
  const owner = ownerOf(applying);
  const { id, runId, callId, behalf, digest, dueAt } = approval;
  // The constraints refuse an id or a call that has a row.
  applying.db.run(INSERT, id, owner.id, runId, callId, behalf.person, digest, dueAt, JSON.stringify(approval));
  applying.touched.add(owner.no);
}

export function decideApproval(applying: Applying, op: OpOf<"approval.decide">): undefined {
  const { db, agents, change, touched } = applying;
  const { id, agentId, digest, from, to, until, by, surface, reason } = op;
  const ended = to === "approved" ? null : change.at;
  const values = [to, until ?? null, ended, change.at, by, surface, reason ?? null];
  const { changes } = db.run(DECIDE, ...values, id, agentId, from, digest);
  if (changes !== 1) throw new RefusedChange("conflict", `Approval ${id} is not ${from}, or is about another call.`);
  touched.add(agents.get(agentId).no);
}

export function useApproval(applying: Applying, { id, digest, by }: OpOf<"approval.use">): undefined {
  const owner = ownerOf(applying);
  const { at } = applying.change;
  const { changes } = applying.db.run(USE, at, JSON.stringify(by), id, owner.id, digest, at);
  if (changes !== 1) throw new RefusedChange("conflict", `Approval ${id} cannot be used for this call.`);
  applying.touched.add(owner.no);
}

export function withdrawApprovals(applying: Applying, { of, id, reason }: OpOf<"approval.withdraw">): OpResult {
  const { db, agents, change } = applying;
  const agent = "agentId" in of ? agents.find(of.agentId) : agents.byKey(of.sessionKey);
  if (!agent) return { op: "approval.withdraw", withdrawn: 0 };
  const withdrawn = withdrawOpen(db, change.at, reason, agent.id, id);
  if (withdrawn > 0) applying.touched.add(agent.no);
  if (agent.suspended === 0) return { op: "approval.withdraw", withdrawn };
  agent.suspended = 0;
  touch(applying, agent, "all");
  return { op: "approval.withdraw", withdrawn, woken: agent.id };
}

export const withdrawOpen = (db: Database, at: number, reason: string, agentId: string, id?: string): number =>
  Number(db.run(WITHDRAW, at, reason, agentId, id ?? null).changes);

export function countShown({ db, agents, touched }: Applying, { id, agentId }: OpOf<"approval.shown">): undefined {
  const agent = agents.find(agentId);
  if (agent && db.run(SHOWN, id, agentId).changes > 0) touched.add(agent.no);
}

export function tellWithdrawn(applying: Applying, { id, agentId, delivery }: OpOf<"approval.told">): undefined {
  const { db, agents, touched, change } = applying;
  if (db.run(TOLD, id, agentId).changes !== 1) {
    throw new RefusedChange("conflict", `Approval ${id} is not withdrawn, or has its notice.`);
  }
  const { no } = agents.get(agentId);
  if (delivery) insertDelivery(db, no, delivery, change.at);
  touched.add(no);
}

/** Withdraws the open rows of all agents that are in one of these states. */
export function withdrawAll(db: Database, at: number, reason: string, states: readonly string[]): number {
  return Number(db.run(WITHDRAW_ALL, at, reason, JSON.stringify(states)).changes);
}

/** Writes an open row as it was. */
export function restoreApproval(db: Database, row: Omit<ApprovalRow, "n">): void {
  const { id, agent, run_id, call_id, person, digest, state, due_at } = row;
  const { decided_at, decided_by, surface, reason, shown, record } = row;
  const decided = [decided_at, decided_by, surface, reason, shown];
  db.run(RESTORE, id, agent, run_id, call_id, person, digest, state, due_at, ...decided, record);
}
