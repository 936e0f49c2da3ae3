/**
 * Applies changes: the one way anything is written, on file, in memory and in the simulation. A change is applied whole
 * or not at all, and only if what its owner claims is still true (M1, M9, M10, M20).
 */

import { unreachable } from "../../../core/errors.ts";
import type { AgentId } from "../../../core/ids.ts";
import type { Change, CommitResult, Op, OpResult, Owner } from "../../../core/store/change.ts";
import type { AgentDraft, AgentDrafts } from "./agent-draft.ts";
import {
  claimAgent,
  claimAgents,
  createAgent,
  describeAgent,
  livingNode,
  releaseAgent,
  removeAgent,
  stopAgent,
} from "./apply-agent.ts";
import { forfeitBudget, liftBudget, reserveBudget, settleBudget, sweepBudgets, toldOfBudget } from "./apply-budget.ts";
import { addDelivery, moveDelivery } from "./apply-delivery.ts";
import { addSlot, jobDelivered, jobRan, putJob, removeJob } from "./apply-job.ts";
import { postMessage, settleMessages, takeMessages } from "./apply-message.ts";
import { prune } from "./apply-prune.ts";
import { abortRun, endRun, openRun, stepRun } from "./apply-run.ts";
import { putSubagentRun } from "./apply-subagent.ts";
import { countContact, putSwarm, removeSwarm } from "./apply-swarm.ts";
import { beginWait, endWait } from "./apply-wait.ts";
import type { Database } from "./database.ts";
import { isDiskError } from "./disk-error.ts";
import { RefusedChange } from "./refused.ts";

/** What the ops of one change share. */
export interface Applying {
  readonly db: Database;
  readonly change: Change;
  readonly drafts: AgentDrafts;
  /** The owner's row; ops that act on the owner refuse where it is missing. */
  readonly owner: AgentDraft | undefined;
  /** Whom the change touched, for the change log: agent numbers, and the words `jobs`, `subagents` and `budgets`. */
  readonly touched: Set<number | string>;
}

/**
 * Applies a group in one transaction. Each change stands alone: one that fails takes nothing with it. The answer holds a
 * result for each, or the error that one met; an error that concerns all (the disk) is thrown, and nothing was applied.
 */
export function applyGroup(db: Database, changes: readonly Change[]): (CommitResult | Error)[] {
  const { sql, drafts } = db;
  sql.exec("BEGIN IMMEDIATE");
  try {
    const results = changes.map((change) => applyChange(db, change));
    drafts.write();
    sql.exec("COMMIT");
    drafts.trim();
    return results;
  } catch (error) {
    rollback(db);
    drafts.forget();
    if (isDiskError(error)) throw error;
    if (changes.length > 1) return applyOneByOne(db, changes);
    if (error instanceof RefusedChange) return [refusal(error.refused, error.message)];
    // An id that is there already: the change was made before, or somebody else came first.
    if (isConstraint(error)) return [refusal("conflict", (error as Error).message)];
    return [error as Error];
  }
}

/**
 * Somewhere in the group one change cannot stand, so each gets a transaction of its own. The disk may fail on the way:
 * what was committed before stays and says so, the rest bears the disk's error.
 */
function applyOneByOne(db: Database, changes: readonly Change[]): (CommitResult | Error)[] {
  let sick: Error | undefined;
  return changes.map((change) => {
    if (sick) return sick;
    try {
      return applyGroup(db, [change])[0] as CommitResult | Error;
    } catch (error) {
      sick = error as Error;
      return sick;
    }
  });
}

function rollback(db: Database): void {
  try {
    db.sql.exec("ROLLBACK");
  } catch {
    // SQLite has already rolled back by itself (a full disk does that).
  }
}

const isConstraint = (error: unknown): boolean => (Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff) === 19;

/** Applies one change inside an open transaction. Throws `RefusedChange` where something was written before the refusal. */
function applyChange(db: Database, change: Change): CommitResult {
  let owner: AgentDraft | undefined;
  if (change.owner) {
    const checked = checkOwner(db, change.owner);
    if (!("no" in checked)) return checked;
    owner = checked;
  }
  const applying: Applying = { db, drafts: db.drafts, change, owner, touched: new Set() };
  const results: (OpResult | undefined)[] = [];
  let said = false;
  for (const op of change.ops) {
    const result = applyOp(applying, op);
    said ||= result !== undefined;
    results.push(result);
  }
  const touched = [...applying.touched].join(" ");
  db.statement("insert-change").run(change.id, change.at, touched, said ? JSON.stringify(results) : null);
  return { ok: true, results };
}

const refusal = (refused: RefusedChange["refused"], detail: string): CommitResult => ({ ok: false, refused, detail });

/** Everything the owner claims, checked before anything is written. */
function checkOwner(db: Database, owner: Owner): AgentDraft | CommitResult {
  const draft = db.drafts.find(owner.agentId);
  if (!draft) return refusal("missing", `There is no agent ${owner.agentId}.`);
  if (draft.node !== owner.node || draft.epoch !== owner.epoch) {
    return refusal("fenced", `Agent ${owner.agentId} is held by node ${draft.node}, epoch ${draft.epoch}.`);
  }
  if (owner.sessionId !== undefined && draft.session_id !== owner.sessionId) {
    return refusal("session", `Agent ${owner.agentId} has begun session ${draft.session_id}.`);
  }
  if (owner.run) {
    const run = db.statement("select-run-guard").get(owner.run.id);
    if (!run) return refusal("missing", `There is no run ${owner.run.id}.`);
    if (run.state !== "open" || run.step !== owner.run.step) {
      return refusal("run", `Run ${owner.run.id} is ${String(run.state)} at step ${String(run.step)}.`);
    }
    if (!owner.run.evenAborted) {
      if (run.abort !== null) return refusal("aborted", `Run ${owner.run.id} is to end: ${String(run.abort)}`);
      const stopped = stoppedBy(db, draft);
      if (stopped) return refusal("stopped", `Agent ${stopped} was stopped.`);
    }
  }
  return draft;
}

/** The agent whose stop mark forbids this one to go on: itself or the nearest stopped ancestor (M20). */
export function stoppedBy(db: Database, draft: Pick<AgentDraft, "id" | "parent" | "stopped">): string | undefined {
  if (draft.stopped !== null) return draft.id;
  let parent = draft.parent;
  for (let depth = 0; parent !== null && depth < 64; depth++) {
    // Through the drafts: a stop of the same group is not in the row yet.
    const ancestor = db.drafts.find(parent as AgentId);
    if (!ancestor) return undefined;
    if (ancestor.stopped !== null) return parent;
    parent = ancestor.parent;
  }
  return undefined;
}

/** Says that a change touched an agent, and how much of its row must be written. */
export function touch({ drafts, touched }: Applying, draft: AgentDraft, what: "inbox" | "all"): void {
  drafts.touch(draft, what);
  touched.add(draft.no);
}

/** The owner's draft, for ops that act on it. */
export function ownerOf(applying: Applying): AgentDraft {
  if (applying.owner) return applying.owner;
  throw new RefusedChange("fenced", `The change at ${applying.change.site} names no owner.`);
}

function applyOp(applying: Applying, op: Op): OpResult | undefined {
  const { db, change } = applying;
  switch (op.op) {
    case "agent.create":
      return createAgent(applying, op);
    case "message.post":
      return postMessage(applying, op);
    case "run.abort":
      return abortRun(applying, op);
    case "agent.stop":
      return stopAgent(applying, op);
    case "wait.begin":
      return beginWait(applying, op);
    case "wait.end":
      return endWait(applying, op);
    case "agent.remove":
      return removeAgent(applying, op);
    case "node.join":
      if (op.was !== undefined) db.statement("return-node").run(op.was);
      return {
        op: "node.join",
        node: Number(db.statement("insert-node").run(op.name, op.leaseUntil).lastInsertRowid),
      };
    case "node.renew":
      if (!livingNode(applying, op.node) || db.statement("renew-node").run(op.leaseUntil, op.node).changes === 0)
        throw new RefusedChange("fenced", `The lease of node ${op.node} has ended.`);
      return undefined;
    case "node.leave":
      db.statement("leave-node").run(op.node);
      return undefined;
    case "agent.claim":
      return claimAgent(applying, op);
    case "agents.claim":
      return claimAgents(applying, op);
    case "agent.release":
      return releaseAgent(applying);
    case "message.take":
      return takeMessages(applying, op);
    case "message.settle":
      return settleMessages(applying, op);
    case "entries.append": {
      const owner = ownerOf(applying);
      if (op.position !== owner.next_pos) {
        throw new RefusedChange("conflict", `History of ${owner.id} is at ${owner.next_pos}, not at ${op.position}.`);
      }
      for (const line of op.lines) db.statement("insert-entry").run(owner.no, owner.next_pos++, line);
      owner.leaf = op.leaf;
      touch(applying, owner, "all");
      return undefined;
    }
    case "agent.describe":
      return describeAgent(applying, op);
    case "leaf.move": {
      const owner = ownerOf(applying);
      owner.leaf = op.leaf;
      touch(applying, owner, "all");
      return undefined;
    }
    case "session.begin": {
      const owner = ownerOf(applying);
      owner.session_id = op.sessionId;
      touch(applying, owner, "all");
      return undefined;
    }
    case "state.put": {
      const owner = ownerOf(applying);
      owner.state = JSON.stringify(op.state);
      touch(applying, owner, "all");
      return undefined;
    }
    case "run.open":
      return openRun(applying, op);
    case "run.step":
      return stepRun(applying, op);
    case "run.end":
      return endRun(applying, op);
    case "delivery.add":
      return addDelivery(applying, op.delivery);
    case "delivery.move":
      return moveDelivery(applying, op);
    case "budget.reserve":
      return reserveBudget(applying, op);
    case "budget.settle":
      return settleBudget(applying, op);
    case "budget.forfeit":
      return forfeitBudget(applying, op);
    case "budget.told":
      return toldOfBudget(applying, op);
    case "budget.lift":
      return liftBudget(applying, op);
    case "budget.sweep":
      return sweepBudgets(applying, op);
    case "job.put":
      return putJob(applying, op);
    case "job.remove":
      return removeJob(applying, op);
    case "job.slot":
      return addSlot(applying, op);
    case "job.delivered":
      return jobDelivered(applying, op);
    case "job.ran":
      return jobRan(applying, op);
    case "subagent.put":
      return putSubagentRun(applying, op);
    case "subagent.remove":
      applying.touched.add("subagents");
      db.statement("remove-subagent-run").run(op.runId);
      return undefined;
    case "swarm.put":
      return putSwarm(applying, op);
    case "swarm.remove":
      return removeSwarm(applying, op);
    case "swarm.contact":
      return countContact(applying, op);
    case "fact.put":
      refuseOtherFact(db, op);
      if (op.value === null) db.statement("remove-fact").run(op.key);
      else db.statement("put-fact").run(op.key, op.value);
      return undefined;
    case "prune":
      return prune(db, op);
    default:
      return unreachable(op, `op at ${change.site}`);
  }
}

function refuseOtherFact(db: Database, { key, expect }: Extract<Op, { op: "fact.put" }>): void {
  if (expect === undefined) return;
  const row = db.statement("select-fact").get(key);
  if ((row?.value ?? null) !== expect) throw new RefusedChange("conflict", `The fact ${key} is another one by now.`);
}
