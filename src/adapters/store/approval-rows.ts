/** The rows of the table `approvals`, and the records made of them. */
import type { Approval, ApprovalState, NewApproval } from "../../core/rights/approval.ts";
import { storedJson } from "./rows.ts";

export const APPROVAL_COLUMNS =
  "n, id, agent, run_id, call_id, person, digest, state, due_at, decided_at, decided_by, surface, reason, shown, record";

export interface ApprovalRow {
  readonly n: number;
  readonly id: string;
  readonly agent: string;
  readonly run_id: string;
  readonly call_id: string;
  readonly person: string;
  readonly digest: string;
  readonly state: ApprovalState;
  readonly due_at: number;
  readonly decided_at: number | null;
  readonly decided_by: string | null;
  readonly surface: string | null;
  readonly reason: string | null;
  readonly shown: number;
  readonly record: string;
}

export const approvalOf = (row: ApprovalRow): Approval => ({
  ...storedJson<NewApproval>(row.record),
  n: row.n,
  state: row.state,
  dueAt: row.due_at,
  decidedAt: row.decided_at ?? undefined,
  decidedBy: row.decided_by ?? undefined,
  surface: row.surface ?? undefined,
  reason: row.reason ?? undefined,
  shown: row.shown > 0 ? row.shown : undefined,
});
