import { expect, test } from "vitest";
import { type ApprovalRow, approvalOf } from "./approval-rows.ts";

const ASKED: ApprovalRow = {
  ...{ n: 5, id: "p", agent: "a", run_id: "r", call_id: "c", person: "ann", digest: "x", state: "pending", due_at: 8 },
  ...{ decided_at: null, decided_by: null, surface: null, reason: null, shown: 0 },
  record: '{"id":"p","tool":"exec","dueAt":1}',
};

test("an approval is what was asked, with the state and the time of its row, and how it was decided", () => {
  const asked = { id: "p", tool: "exec", n: 5, state: "pending", dueAt: 8 };
  expect(approvalOf(ASKED)).toStrictEqual({
    ...{
      ...asked,
      decidedAt: undefined,
      decidedBy: undefined,
      surface: undefined,
      reason: undefined,
      shown: undefined,
    },
  });
  const decided = {
    state: "denied",
    decided_at: 9,
    decided_by: "owner",
    surface: "cli",
    reason: "no",
    shown: 2,
  } as const;
  expect(approvalOf({ ...ASKED, ...decided })).toStrictEqual({
    ...{ ...asked, state: "denied", decidedAt: 9, decidedBy: "owner", surface: "cli", reason: "no", shown: 2 },
  });
});
