/** Puts a question about a call into a store, as a run would. */
import type { AgentId, ChangeId, RunId } from "../../core/ids.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { ApprovalId, NewApproval } from "../../core/rights/approval.ts";
import type { Op, Owner } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";

let count = 0;

export async function putQuestion(
  store: Pick<Store, "commit">,
  at: number,
  {
    agentId,
    id,
    person = "ann",
    effects = [{ action: "exec", rights: ["exec"] }],
  }: {
    readonly agentId: AgentId;
    readonly id: string;
    readonly person?: string;
    readonly effects?: NewApproval["effects"];
  },
): Promise<void> {
  const commit = async (ops: readonly Op[], owner?: Owner) => {
    const done = await store.commit({ id: `question-${++count}` as ChangeId, site: "test", at, ops, owner });
    if (!done.ok) throw new Error(done.detail);
    return done.results[0];
  };
  const joined = await commit([{ op: "node.join", name: "asker", leaseUntil: at + 1_000 }]);
  const node = joined?.op === "node.join" ? joined.node : 0;
  const claimed = await commit([{ op: "agent.claim", agentId, node }]);
  const epoch = claimed?.op === "agent.claim" ? (claimed.epoch ?? 0) : 0;
  const approval: NewApproval = {
    ...{ id: id as ApprovalId, agentId, runId: `run-${id}` as RunId, callId: "call", tool: "exec" },
    ...{ behalf: { person: person as PersonId }, arguments: { command: "date" }, digest: `digest-${id}` },
    ...{
      prompt: "exec for ann:\n{}",
      askedAt: at,
      dueAt: at + 3600_000,
      effects,
    },
  };
  await commit([{ op: "approval.ask", approval }, { op: "agent.release" }], { agentId, node, epoch });
  await commit([{ op: "node.leave", node }]);
}
