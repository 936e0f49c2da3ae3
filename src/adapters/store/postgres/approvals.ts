/** The table `approvals`: reads, and how ops on it are sent (M31). */
import type { StoreReader } from "../../../core/store/store.ts";
import { APPROVAL_COLUMNS, type ApprovalRow, approvalOf } from "../approval-rows.ts";
import { readablePage } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { deliveryWire } from "./deliveries.ts";
import { type Lock, type OpForms, whole } from "./op-form.ts";

const OPEN = "state IN ('pending', 'approved')";
const SELECT: Statement = { name: "select-approval", text: `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE id = $1` };
const SELECT_PAGE: Statement = {
  name: "select-approvals",
  text: `SELECT ${APPROVAL_COLUMNS} FROM approvals
WHERE ($1::bigint IS NULL OR n < $1) AND ($2::text[] IS NULL OR state = ANY ($2)) AND ($3::text IS NULL OR agent = $3)
  AND ($4::text IS NULL OR person = $4)
ORDER BY n DESC LIMIT $5`,
};
const SELECT_UNTOLD: Statement = {
  name: "select-untold-approvals",
  text: `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE state = 'withdrawn' AND shown > 0 ORDER BY n DESC LIMIT $1`,
};
const SELECT_DUE: Statement = {
  name: "select-approvals-due",
  text: `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE ${OPEN} AND due_at <= $1 ORDER BY due_at, n LIMIT $2`,
};
export const SELECT_OPEN_OF_AGENT: Statement = {
  name: "select-open-approvals",
  text: `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE agent = $1 AND ${OPEN} ORDER BY n`,
};

type ApprovalReads = "approval" | "approvals" | "approvalsDue" | "openApprovals";

export const approvalReads = (connections: Connections): Pick<StoreReader, ApprovalReads> => ({
  approval: async (id) => {
    const row = await connections.one<ApprovalRow>(SELECT, clean(id));
    return row && approvalOf(row);
  },
  approvals: ({ limit, beforeN, states, agentId, person, untold }) => {
    if (untold) {
      return readablePage(limit, approvalOf, (asked) => connections.all<ApprovalRow>(SELECT_UNTOLD, asked));
    }
    const values = [beforeN ?? null, states ?? null, agentId ?? null, cleanIfAny(person) ?? null];
    return readablePage(limit, approvalOf, (asked) => connections.all<ApprovalRow>(SELECT_PAGE, ...values, asked));
  },
  approvalsDue: ({ by = Number.MAX_SAFE_INTEGER, limit }) =>
    readablePage(limit, approvalOf, (asked) => connections.all<ApprovalRow>(SELECT_DUE, by, asked)),
  openApprovals: async (agentId) =>
    (await connections.all<ApprovalRow>(SELECT_OPEN_OF_AGENT, clean(agentId))).map(approvalOf),
});

const approvalLock = (id: string): Lock => ["names", `approval ${clean(id)}`];

type ApprovalOp = "ask" | "use" | "decide" | "shown" | "told" | "withdraw";

export const approvalOps: OpForms<`approval.${ApprovalOp}`> = {
  "approval.ask": {
    byOwner: true,
    wire: ({ approval }) => ({
      id: clean(approval.id),
      runId: clean(approval.runId),
      callId: clean(approval.callId),
      person: clean(approval.behalf.person),
      digest: clean(approval.digest),
      due: whole(approval.dueAt),
      record: JSON.stringify(approval),
    }),
    locks: ({ approval }) => [approvalLock(approval.id)],
  },
  "approval.use": {
    byOwner: true,
    wire: ({ id, digest, by }) => ({ id: clean(id), digest: clean(digest), by: clean(JSON.stringify(by)) }),
    locks: ({ id }) => [approvalLock(id)],
  },
  "approval.decide": {
    wire: ({ id, agentId, digest, from, to, until, by, surface, reason }) => ({
      id: clean(id),
      agentId: clean(agentId),
      digest: clean(digest),
      from,
      to,
      until: until === undefined ? undefined : whole(until),
      by: clean(by),
      surface: clean(surface),
      reason: cleanIfAny(reason),
    }),
    locks: ({ id, agentId }) => [approvalLock(id), ["agents", clean(agentId)]],
  },
  "approval.shown": {
    wire: ({ id, agentId }) => ({ id: clean(id), agentId: clean(agentId) }),
    locks: ({ id, agentId }) => [approvalLock(id), ["agents", clean(agentId)]],
  },
  "approval.told": {
    wire: ({ id, agentId, delivery }) => ({
      id: clean(id),
      agentId: clean(agentId),
      delivery: delivery && deliveryWire(delivery),
    }),
    locks: ({ id, agentId }) => [approvalLock(id), ["agents", clean(agentId)]],
  },
  "approval.withdraw": {
    wire: ({ of, id, reason, ifPosted }) => ({
      ...("agentId" in of ? { agentId: clean(of.agentId) } : { key: clean(of.sessionKey) }),
      ...{ id: cleanIfAny(id), reason: clean(reason), ifPosted },
    }),
    locks: ({ of }) => ["agentId" in of ? ["agents", clean(of.agentId)] : ["keys", clean(of.sessionKey)]],
  },
};
