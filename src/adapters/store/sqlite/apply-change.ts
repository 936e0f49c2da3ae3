/**
 * Applies changes: the only way to write, on file, in memory and in the simulation. A change is applied whole or not at
 * all, and only if everything its owner claims is still true (M1, M9, M10, M20). Also the table `changes`, the log of them.
 */
import { unreachable } from "../../../core/errors.ts";
import type { ChangeId } from "../../../core/ids.ts";
import type { Change, CommitResult, Op, OpResult, Owner, Refusal } from "../../../core/store/change.ts";
import { storedJson } from "../rows.ts";
import {
  type Applying,
  type CachedAgent,
  claimAgent,
  claimAgents,
  handAgent,
  releaseAgent,
  stoppedBy,
} from "./agent-cache.ts";
import { beginSession, createAgent, describeAgent, removeAgent, stopAgent } from "./agents.ts";
import { askApproval, countShown, decideApproval, tellWithdrawn, useApproval, withdrawApprovals } from "./approvals.ts";
import { addAudit } from "./audit.ts";
import {
  chargeBudget,
  forfeitBudget,
  liftBudget,
  reserveBudget,
  settleBudget,
  sweepBudgets,
  toldOfBudget,
} from "./budgets.ts";
import type { Database } from "./database.ts";
import { addDelivery, moveDelivery } from "./deliveries.ts";
import { isDiskError } from "./disk-error.ts";
import { appendEntries, moveLeaf, putState } from "./entries.ts";
import { eraseAgent, erasePerson } from "./erase.ts";
import { putFact } from "./facts.ts";
import { addSlot, jobDelivered, jobRan, putJob, removeJob } from "./jobs.ts";
import { countTry, dropMessage, postMessage, settleMessages, takeMessages } from "./messages.ts";
import { joinNode, leaveNode, renewNode } from "./nodes.ts";
import { moveRights, putPerson, removePerson, rightsRevision } from "./people.ts";
import { prune } from "./prune.ts";
import { RefusedChange } from "./refused.ts";
import { finishRequest, putRequest } from "./requests.ts";
import { abortRun, amendRun, endRun, openRun, runGuard, stepRun, suspendRun } from "./runs.ts";
import { blobsGone, holdFiles, putFile, removeFile, stageBlobs, sweepFiles } from "./stored-files.ts";
import { putSubagentRun, removeSubagentRun } from "./subagent-runs.ts";
import { countContact, putSwarm, removeSwarm } from "./swarms.ts";
import { beginWait, endWait } from "./waits.ts";

const INSERT_CHANGE = "INSERT INTO changes (id, at, touched, result) VALUES (?, ?, ?, ?)";
const SELECT_CHANGE = "SELECT result FROM (SELECT id, result FROM changes ORDER BY n DESC LIMIT 100000) WHERE id = ?";

type ApplyOp<Name extends Op["op"]> = (applying: Applying, op: Extract<Op, { op: Name }>) => OpResult | undefined;

/** How each op is applied. `op-table.test-kit.ts` names its counterparts in PostgreSQL. */
const APPLY: { readonly [Name in Op["op"]]: ApplyOp<Name> } = {
  "agent.create": createAgent,
  "agent.describe": describeAgent,
  "agent.stop": stopAgent,
  "agent.remove": removeAgent,
  "agent.claim": claimAgent,
  "agents.claim": claimAgents,
  "agent.release": releaseAgent,
  "agent.hand": handAgent,
  "session.begin": beginSession,
  "node.join": joinNode,
  "node.renew": renewNode,
  "node.leave": leaveNode,
  "message.post": postMessage,
  "message.take": takeMessages,
  "message.settle": settleMessages,
  "message.tried": countTry,
  "message.drop": dropMessage,
  "entries.append": appendEntries,
  "leaf.move": moveLeaf,
  "state.put": putState,
  "run.open": openRun,
  "run.step": stepRun,
  "run.amend": amendRun,
  "run.end": endRun,
  "run.suspend": suspendRun,
  "run.abort": abortRun,
  "wait.begin": beginWait,
  "wait.end": endWait,
  "delivery.add": addDelivery,
  "delivery.move": moveDelivery,
  "budget.reserve": reserveBudget,
  "budget.settle": settleBudget,
  "budget.forfeit": forfeitBudget,
  "budget.charge": chargeBudget,
  "budget.told": toldOfBudget,
  "budget.lift": liftBudget,
  "budget.sweep": sweepBudgets,
  "job.put": putJob,
  "job.remove": removeJob,
  "job.slot": addSlot,
  "job.ran": jobRan,
  "job.delivered": jobDelivered,
  "subagent.put": putSubagentRun,
  "subagent.remove": removeSubagentRun,
  "swarm.put": putSwarm,
  "swarm.remove": removeSwarm,
  "swarm.contact": countContact,
  "person.put": putPerson,
  "person.remove": removePerson,
  "rights.move": moveRights,
  "approval.ask": askApproval,
  "approval.use": useApproval,
  "approval.shown": countShown,
  "approval.told": tellWithdrawn,
  "approval.decide": decideApproval,
  "approval.withdraw": withdrawApprovals,
  "file.stage": stageBlobs,
  "file.put": putFile,
  "file.hold": holdFiles,
  "file.remove": removeFile,
  "file.sweep": sweepFiles,
  "file.gone": blobsGone,
  "agent.erase": eraseAgent,
  "person.erase": erasePerson,
  "audit.add": addAudit,
  "fact.put": putFact,
  "request.put": putRequest,
  "request.finish": finishRequest,
  prune,
};

/**
 * Applies a group in one transaction. Changes are independent: a refused one leaves the others in place. Returns a result
 * or an error per change; throws an error that concerns all (the disk), and then nothing was applied.
 */
export function applyGroup(db: Database, changes: readonly Change[]): (CommitResult | Error)[] {
  const { sql, agentCache } = db;
  sql.exec("BEGIN IMMEDIATE");
  try {
    const results = changes.map((change) => applyChange(db, change));
    agentCache.write();
    sql.exec("COMMIT");
    agentCache.trim();
    return results;
  } catch (error) {
    rollback(db);
    agentCache.clear();
    if (isDiskError(error)) throw error;
    if (changes.length > 1) return applyOneByOne(db, changes);
    if (error instanceof RefusedChange) return [refusal(error.refused, error.message)];
    // An id that exists already: the change was applied before, or another change took the id.
    if (isConstraint(error)) return [refusal("conflict", (error as Error).message)];
    return [error as Error];
  }
}

/**
 * Applies one change inside the caller's transaction. The caller must roll back if it is refused or throws, and clear the
 * cache of agents then.
 */
export function applyWithin(db: Database, change: Change): CommitResult {
  const result = applyChange(db, change);
  db.agentCache.write();
  return result;
}

/**
 * Some change of the group cannot be applied, so each gets its own transaction. If the disk fails on the way, the
 * changes committed before it keep their results and the rest get the disk's error.
 */
function applyOneByOne(db: Database, changes: readonly Change[]): (CommitResult | Error)[] {
  let diskError: Error | undefined;
  return changes.map((change) => {
    if (diskError) return diskError;
    try {
      return applyGroup(db, [change])[0] as CommitResult | Error;
    } catch (error) {
      diskError = error as Error;
      return diskError;
    }
  });
}

function rollback(db: Database): void {
  try {
    db.sql.exec("ROLLBACK");
  } catch {
    // SQLite has rolled back by itself (a full disk makes it do so).
  }
}

const isConstraint = (error: unknown): boolean => (Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff) === 19;

/** Applies one change inside an open transaction. Throws `RefusedChange` if something was written before the refusal. */
function applyChange(db: Database, change: Change): CommitResult {
  let owner: CachedAgent | undefined;
  if (change.owner) {
    const checked = checkOwner(db, change.owner);
    if (!("no" in checked)) return checked;
    owner = checked;
  }
  const applying: Applying = { db, agents: db.agentCache, change, owner, touched: new Set(), isRepeated: false };
  const results: (OpResult | undefined)[] = [];
  let hasResult = false;
  for (const op of change.ops) {
    const result = applying.isRepeated && "ifPosted" in op && op.ifPosted ? undefined : applyOp(applying, op);
    applying.isRepeated ||= result?.op === "message.post" && result.duplicate;
    hasResult ||= result !== undefined;
    results.push(result);
  }
  const touched = [...applying.touched].join(" ");
  db.run(INSERT_CHANGE, change.id, change.at, touched, hasResult ? JSON.stringify(results) : null);
  return { ok: true, results };
}

function applyOp(applying: Applying, op: Op): OpResult | undefined {
  const apply = APPLY[op.op] as ApplyOp<Op["op"]> | undefined;
  return apply ? apply(applying, op) : unreachable(op as never, `op at ${applying.change.site}`);
}

const refusal = (refused: Refusal, detail: string): CommitResult => ({ ok: false, refused, detail });

/** Checks everything the owner claims, before anything is written. */
function checkOwner(db: Database, owner: Owner): CachedAgent | CommitResult {
  const agent = db.agentCache.find(owner.agentId);
  if (!agent) return refusal("missing", `There is no agent ${owner.agentId}.`);
  if (agent.node !== owner.node || agent.epoch !== owner.epoch) {
    return refusal("fenced", `Agent ${owner.agentId} is held by node ${agent.node}, epoch ${agent.epoch}.`);
  }
  if (owner.sessionId !== undefined && agent.session_id !== owner.sessionId) {
    return refusal("session", `Agent ${owner.agentId} has begun session ${agent.session_id}.`);
  }
  if (owner.run) {
    const run = runGuard(db, owner.run.id);
    if (!run) return refusal("missing", `There is no run ${owner.run.id}.`);
    if (run.state !== "open" || run.step !== owner.run.step) {
      return refusal("run", `Run ${owner.run.id} is ${run.state} at step ${run.step}.`);
    }
    if (!owner.run.evenAborted) {
      if (run.abort !== null) return refusal("aborted", `Run ${owner.run.id} was aborted: ${run.abort}`);
      const stopped = stoppedBy(db, agent);
      if (stopped) return refusal("stopped", `Agent ${stopped} was stopped.`);
    }
  }
  if (owner.rights !== undefined) {
    const revision = rightsRevision(db);
    if (revision !== owner.rights)
      return refusal("rights", `The rights of people are at ${revision}, not ${owner.rights}.`);
  }
  return agent;
}

/** The result of a change, or undefined if it was not applied. */
export function outcomeOf(db: Database, id: ChangeId): CommitResult | undefined {
  const row = db.get<{ result: string | null }>(SELECT_CHANGE, id);
  if (!row) return undefined;
  const results = row.result === null ? [] : storedJson<(OpResult | null)[]>(row.result);
  return { ok: true, results: results.map((result) => result ?? undefined) };
}
