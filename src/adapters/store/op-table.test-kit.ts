/**
 * Where each op is implemented. An op has up to four places, which must mean the same: a function in `sqlite/`, a form in
 * `postgres/`, a branch of `apply_change`, and rows in `apply_batch`. `op-table.test.ts` reads those places and fails if
 * one of them lacks an op or has one that this table does not name.
 */
import type { Op } from "../../core/store/change.ts";

export interface OpPlaces {
  /** The function that `sqlite/apply-change.ts` calls, and its file. */
  readonly sqlite: `${string}.ts#${string}`;
  /** The module in `postgres/` that holds the op's `OpForm`. */
  readonly form: `${string}.ts`;
  /** Which `CASE` of `functions/6-apply-change.sql` has its branch: ops that act on the owner have one of their own. */
  readonly branch: "owner" | "any";
  /** The SQL function the branch leaves the work to. */
  readonly calls?: string;
  /** Sent under this name, so that it has no branch of its own. */
  readonly sentAs?: Op["op"];
  /** What `functions/8-apply-batch.sql` reads of it: tables of rows, or columns of the owner's row (`owners.leaf`). */
  readonly batch?: readonly string[];
}

export const OP_TABLE: { readonly [Name in Op["op"]]: OpPlaces } = {
  "agent.create": { sqlite: "agents.ts#createAgent", form: "agents.ts", branch: "any", calls: "insert_agent" },
  "agent.describe": { sqlite: "agents.ts#describeAgent", form: "agents.ts", branch: "owner" },
  "agent.stop": { sqlite: "agents.ts#stopAgent", form: "agents.ts", branch: "any" },
  "agent.remove": { sqlite: "agents.ts#removeAgent", form: "agents.ts", branch: "any" },
  "agent.claim": { sqlite: "agent-cache.ts#claimAgent", form: "agents.ts", branch: "any" },
  "agents.claim": { sqlite: "agent-cache.ts#claimAgents", form: "agents.ts", branch: "any", calls: "claim_agents" },
  "agent.release": {
    sqlite: "agent-cache.ts#releaseAgent",
    form: "agents.ts",
    branch: "owner",
    batch: ["owners.rel"],
  },
  "agent.hand": { sqlite: "agent-cache.ts#handAgent", form: "agents.ts", branch: "owner" },
  "session.begin": { sqlite: "agents.ts#beginSession", form: "agents.ts", branch: "owner", batch: ["owners.begins"] },
  "node.join": { sqlite: "nodes.ts#joinNode", form: "nodes.ts", branch: "any" },
  "node.renew": { sqlite: "nodes.ts#renewNode", form: "nodes.ts", branch: "any" },
  "node.leave": { sqlite: "nodes.ts#leaveNode", form: "nodes.ts", branch: "any" },
  "message.post": {
    sqlite: "messages.ts#postMessage",
    form: "messages.ts",
    branch: "any",
    calls: "post_message",
    batch: ["posts", "requests"],
  },
  "message.take": {
    sqlite: "messages.ts#takeMessages",
    form: "messages.ts",
    branch: "owner",
    batch: ["taken", "owners.gone", "owners.unless"],
  },
  "message.settle": {
    sqlite: "messages.ts#settleMessages",
    form: "messages.ts",
    branch: "owner",
    batch: ["settled", "owners.gone"],
  },
  "message.tried": { sqlite: "messages.ts#countTry", form: "messages.ts", branch: "owner" },
  "message.drop": { sqlite: "messages.ts#dropMessage", form: "messages.ts", branch: "any" },
  "entries.append": {
    sqlite: "entries.ts#appendEntries",
    form: "entries.ts",
    branch: "owner",
    batch: ["entries", "owners.pos", "owners.lines", "owners.leaf"],
  },
  "leaf.move": { sqlite: "entries.ts#moveLeaf", form: "entries.ts", branch: "owner", batch: ["owners.leaf"] },
  "state.put": { sqlite: "entries.ts#putState", form: "entries.ts", branch: "owner", batch: ["states"] },
  "run.open": { sqlite: "runs.ts#openRun", form: "runs.ts", branch: "owner", batch: ["opened", "owners.opens"] },
  "run.step": { sqlite: "runs.ts#stepRun", form: "runs.ts", branch: "owner", batch: ["stepped", "owners.steps"] },
  "run.amend": { sqlite: "runs.ts#amendRun", form: "runs.ts", branch: "owner" },
  "run.end": { sqlite: "runs.ts#endRun", form: "runs.ts", branch: "owner", batch: ["ended", "owners.ends"] },
  "run.suspend": { sqlite: "runs.ts#suspendRun", form: "runs.ts", branch: "owner" },
  "run.abort": { sqlite: "runs.ts#abortRun", form: "runs.ts", branch: "any" },
  "wait.begin": { sqlite: "waits.ts#beginWait", form: "waits.ts", branch: "any" },
  "wait.end": { sqlite: "waits.ts#endWait", form: "waits.ts", branch: "any" },
  "delivery.add": { sqlite: "deliveries.ts#addDelivery", form: "deliveries.ts", branch: "owner", batch: ["owed"] },
  "delivery.move": {
    sqlite: "deliveries.ts#moveDelivery",
    form: "deliveries.ts",
    branch: "any",
    calls: "move_delivery",
    batch: ["moved"],
  },
  "budget.reserve": {
    sqlite: "budgets.ts#reserveBudget",
    form: "budgets.ts",
    branch: "owner",
    calls: "reserve_budget",
  },
  "budget.settle": {
    sqlite: "budgets.ts#settleBudget",
    form: "budgets.ts",
    branch: "any",
    calls: "settle_reservations",
  },
  "budget.forfeit": {
    sqlite: "budgets.ts#forfeitBudget",
    form: "budgets.ts",
    branch: "any",
    calls: "settle_reservations",
  },
  "budget.told": { sqlite: "budgets.ts#toldOfBudget", form: "budgets.ts", branch: "owner" },
  "budget.charge": { sqlite: "budgets.ts#chargeBudget", form: "budgets.ts", branch: "any" },
  "budget.lift": { sqlite: "budgets.ts#liftBudget", form: "budgets.ts", branch: "any" },
  "budget.sweep": {
    sqlite: "budgets.ts#sweepBudgets",
    form: "budgets.ts",
    branch: "any",
    calls: "settle_reservations",
  },
  "job.put": { sqlite: "jobs.ts#putJob", form: "jobs.ts", branch: "any" },
  "job.remove": { sqlite: "jobs.ts#removeJob", form: "jobs.ts", branch: "any" },
  "job.slot": { sqlite: "jobs.ts#addSlot", form: "jobs.ts", branch: "any" },
  "job.ran": { sqlite: "jobs.ts#jobRan", form: "jobs.ts", branch: "any" },
  "job.delivered": { sqlite: "jobs.ts#jobDelivered", form: "jobs.ts", branch: "any", sentAs: "job.ran" },
  "subagent.put": { sqlite: "subagent-runs.ts#putSubagentRun", form: "subagent-runs.ts", branch: "any" },
  "subagent.remove": { sqlite: "subagent-runs.ts#removeSubagentRun", form: "subagent-runs.ts", branch: "any" },
  "swarm.put": { sqlite: "swarms.ts#putSwarm", form: "swarms.ts", branch: "any" },
  "swarm.remove": { sqlite: "swarms.ts#removeSwarm", form: "swarms.ts", branch: "any" },
  "swarm.contact": { sqlite: "swarms.ts#countContact", form: "swarms.ts", branch: "any" },
  "person.put": { sqlite: "people.ts#putPerson", form: "people.ts", branch: "any", calls: "change_person" },
  "person.remove": { sqlite: "people.ts#removePerson", form: "people.ts", branch: "any", calls: "change_person" },
  "rights.move": { sqlite: "people.ts#moveRights", form: "people.ts", branch: "any", calls: "change_person" },
  "approval.ask": { sqlite: "approvals.ts#askApproval", form: "approvals.ts", branch: "owner" },
  "approval.use": { sqlite: "approvals.ts#useApproval", form: "approvals.ts", branch: "owner" },
  "approval.decide": { sqlite: "approvals.ts#decideApproval", form: "approvals.ts", branch: "any" },
  "approval.shown": { sqlite: "approvals.ts#countShown", form: "approvals.ts", branch: "any" },
  "approval.told": { sqlite: "approvals.ts#tellWithdrawn", form: "approvals.ts", branch: "any" },
  "approval.withdraw": { sqlite: "approvals.ts#withdrawApprovals", form: "approvals.ts", branch: "any" },
  "file.stage": { sqlite: "stored-files.ts#stageBlobs", form: "stored-files.ts", branch: "any" },
  "file.put": { sqlite: "stored-files.ts#putFile", form: "stored-files.ts", branch: "any", calls: "put_file" },
  "file.hold": { sqlite: "stored-files.ts#holdFiles", form: "stored-files.ts", branch: "any", calls: "hold_files" },
  "file.remove": { sqlite: "stored-files.ts#removeFile", form: "stored-files.ts", branch: "any", calls: "drop_files" },
  "file.sweep": { sqlite: "stored-files.ts#sweepFiles", form: "stored-files.ts", branch: "any", calls: "sweep_files" },
  "file.gone": { sqlite: "stored-files.ts#blobsGone", form: "stored-files.ts", branch: "any" },
  "agent.erase": { sqlite: "erase.ts#eraseAgent", form: "erase.ts", branch: "any", calls: "erase_agent" },
  "person.erase": { sqlite: "erase.ts#erasePerson", form: "erase.ts", branch: "any", calls: "erase_person" },
  "audit.add": { sqlite: "audit.ts#addAudit", form: "audit.ts", branch: "any", batch: ["audit"] },
  "fact.put": { sqlite: "facts.ts#putFact", form: "facts.ts", branch: "any", batch: ["facts"] },
  "request.put": { sqlite: "requests.ts#putRequest", form: "requests.ts", branch: "any" },
  "request.finish": { sqlite: "requests.ts#finishRequest", form: "requests.ts", branch: "any", batch: ["finished"] },
  prune: { sqlite: "prune.ts#prune", form: "ops.ts", branch: "any", calls: "prune" },
};
