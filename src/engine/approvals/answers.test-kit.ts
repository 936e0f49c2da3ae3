/** A question about a call, the people around it, and the time of an answer. */
import type { RunId } from "../../core/ids.ts";
import type { Grant } from "../../core/people/grant.ts";
import { OWNER, type PersonId } from "../../core/people/person.ts";
import type { PersonRecord } from "../../core/people/person-record.ts";
import type { Approval, ApprovalId } from "../../core/rights/approval.ts";
import type { Effect } from "../../core/rights/decide.ts";
import type { PeopleNow } from "../people/directory.ts";

export const [ANN, BOB, EVE] = ["ann", "bob", "eve"] as unknown as [PersonId, PersonId, PersonId];
export const NOW = 1_000_000;
export const DAY = 86_400_000;
export const command = (...argv: string[]): Effect => ({
  action: "exec",
  rights: ["exec"],
  detail: { kind: "command", argv, cwd: "/" },
});

export function people(grants: Record<string, readonly Grant[]> = {}): PeopleNow {
  const record = (id: string): PersonRecord | undefined =>
    grants[id] &&
    ({ id, role: "guest", accounts: [], grants: grants[id], createdAt: 1, createdBy: "owner" } as PersonRecord);
  return {
    revision: 7,
    personOf: (id: PersonId) => (id === "test:ann" ? ANN : id),
    sender: () => ANN,
    record,
    standing: (id: PersonId) => ({ person: id, role: id === OWNER ? "owner" : "guest", grants: grants[id] ?? [] }),
  };
}
export const approval = (more: Partial<Approval> = {}): Approval =>
  ({
    ...{
      id: "kfmz" as ApprovalId,
      agentId: "a1",
      runId: "r1" as RunId,
      callId: "c1",
      tool: "exec",
      arguments: {},
      digest: "d1",
    },
    ...{
      behalf: { person: ANN },
      prompt: "p",
      askedAt: 1,
      dueAt: NOW + 1,
      state: "pending",
      n: 1,
      effects: [command("git", "push")],
    },
    ...more,
  }) as Approval;
