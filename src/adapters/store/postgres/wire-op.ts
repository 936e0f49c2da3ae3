/** One op as the database's function takes it. What the database need not look into travels as text. */
import type { AgentSeed } from "../../../core/agent/agent.ts";
import { freshState } from "../../../core/agent/state.ts";
import { targetKey } from "../../../core/delivery/delivery.ts";
import { unreachable } from "../../../core/errors.ts";
import { isUrgent } from "../../../core/message/message.ts";
import type { RunBody } from "../../../core/run/run.ts";
import { type CronJob, versionOf, wakeTimeOf } from "../../../core/schedule/job.ts";
import { type JobSlot, jobAfterDelivery, jobAfterRun, slotAfterDelivery } from "../../../core/schedule/job-slot.ts";
import type { Op } from "../../../core/store/change.ts";
import { clean, cleanIfAny as maybe } from "./clean-text.ts";
import { jobRanKey } from "./locks.ts";

export type Wire = Readonly<Record<string, unknown>>;

/** What ops need to have read before: jobs and slots, by `jobRanKey`. */
export type ReadBefore = ReadonlyMap<string, { readonly job?: CronJob; readonly row?: JobSlot }>;

/** Times are whole milliseconds; whoever has no end says so with a number no integer column holds. */
export const whole = (ms: number): number => Math.min(Math.trunc(ms), Number.MAX_SAFE_INTEGER);

function wireSeed(seed: AgentSeed): Wire {
  const { descriptor } = seed;
  return {
    id: seed.id,
    key: clean(seed.sessionKey),
    profile: clean(seed.profile),
    kind: descriptor.type,
    parent: descriptor.type === "subagent" ? clean(descriptor.parentAgentId) : undefined,
    descriptor: JSON.stringify(descriptor),
    state: JSON.stringify(seed.state),
    session: seed.sessionId,
    lines: seed.lines.map(clean),
    leaf: clean(seed.leaf),
    at: whole(seed.createdAt),
  };
}

/** A run's body, and what of it is summed up. */
export function wireBody(body: RunBody): Wire {
  const { person, usage } = body;
  return {
    body: JSON.stringify(body),
    person: typeof person === "string" ? clean(person) : undefined,
    tokens: usage?.totalTokens === undefined ? undefined : Math.trunc(usage.totalTokens),
    cost: usage?.cost?.total,
  };
}

/** The plain files follow job by job. */
const jobWord = (id: string): string => `job:${encodeURIComponent(id)}`;

const wireJob = (job: CronJob): Wire => ({
  id: clean(job.id),
  word: jobWord(job.id),
  nextAt: wakeTimeOf(job),
  job: JSON.stringify({ ...job, version: undefined }),
});

export function wireOp(op: Op, at: number, read: ReadBefore): Wire {
  switch (op.op) {
    case "agent.create":
      return { op: op.op, seed: wireSeed(op.seed), fresh: op.fresh ? true : undefined };
    case "message.post": {
      const { body, acceptedAt } = op.message;
      return {
        op: op.op,
        ...("agentId" in op.to
          ? { to: clean(op.to.agentId) }
          : { key: clean(op.to.sessionKey), seed: op.to.create && wireSeed(op.to.create) }),
        urgent: isUrgent(body) ? true : undefined,
        reset: body.kind === "reset" ? true : undefined,
        human: body.kind === "user" ? true : undefined,
        at: whole(acceptedAt),
        message: JSON.stringify(op.message),
        dedupe: op.dedupe && clean(op.dedupe.key),
        keep: op.dedupe && whole(op.dedupe.keepUntil),
        claim: op.claimFor,
      };
    }
    case "run.abort":
      return { op: op.op, runId: clean(op.runId), mark: JSON.stringify(op.mark) };
    case "agent.stop":
      return {
        op: op.op,
        agentId: clean(op.agentId),
        mark: op.mark === null ? undefined : JSON.stringify({ ...op.mark, seq: undefined }),
        ifSeq: op.ifSeq,
      };
    case "agent.remove": {
      const mark = JSON.stringify({ at: whole(at), reason: op.reason, removed: true });
      const state = JSON.stringify(freshState(at));
      return { op: op.op, agentId: clean(op.agentId), mark, state, keep: op.keep ? true : undefined };
    }
    case "node.join":
      return { op: op.op, name: clean(op.name), leaseUntil: whole(op.leaseUntil), was: op.was };
    case "node.renew":
      return { op: op.op, node: op.node, leaseUntil: whole(op.leaseUntil) };
    case "node.leave":
      return { op: op.op, node: op.node };
    case "agent.claim":
      return { op: op.op, agentId: clean(op.agentId), node: op.node };
    case "agents.claim":
      return { op: op.op, node: op.node, limit: op.limit, own: op.own ?? false, after: maybe(op.after) };
    case "agent.release":
      return { op: op.op, byOwner: true };
    case "message.take":
      return { op: op.op, byOwner: true, runId: clean(op.runId), seqs: op.seqs, unless: op.unlessResetAfter };
    case "message.settle":
      return {
        op: op.op,
        byOwner: true,
        settlements: op.settlements.map((one) => ({ ...one, reason: maybe(one.reason) })),
      };
    case "entries.append":
      return { op: op.op, byOwner: true, position: op.position, lines: op.lines.map(clean), leaf: clean(op.leaf) };
    case "leaf.move":
      return { op: op.op, byOwner: true, leaf: clean(op.leaf) };
    case "session.begin":
      return { op: op.op, byOwner: true, sessionId: op.sessionId };
    case "state.put":
      return { op: op.op, byOwner: true, state: JSON.stringify(op.state) };
    case "run.open":
      return { op: op.op, byOwner: true, runId: clean(op.runId), ...wireBody(op.body) };
    case "run.step":
      return { op: op.op, byOwner: true, runId: clean(op.runId), ...wireBody(op.body), attempt: op.attempt };
    case "run.end":
      return { op: op.op, byOwner: true, runId: clean(op.runId), ...wireBody(op.body), outcome: op.outcome };
    case "delivery.add": {
      const { id, runId, target, payload, createdAt, ended } = op.delivery;
      return {
        op: op.op,
        byOwner: true,
        id: clean(id),
        runId: maybe(runId),
        at: whole(createdAt),
        state: ended?.state,
        reason: maybe(ended?.reason),
        target: clean(targetKey(target)),
        payload: JSON.stringify(payload),
      };
    }
    case "delivery.move":
      return {
        op: op.op,
        id: clean(op.id),
        from: op.from,
        attempts: op.attempts,
        to: op.to,
        nextAt: op.nextAt === undefined ? undefined : whole(op.nextAt),
        reason: maybe(op.reason),
        receipt: maybe(op.receipt),
        node: op.node,
        toTail: op.toTail ? true : undefined,
      };
    case "agent.describe":
      return {
        op: op.op,
        byOwner: true,
        kind: op.descriptor.type,
        descriptor: JSON.stringify(op.descriptor),
      };
    case "swarm.put":
      return {
        op: op.op,
        nametag: clean(op.swarm.nametag),
        record: JSON.stringify(op.swarm),
        fresh: op.fresh ? true : undefined,
      };
    case "swarm.remove":
      return { op: op.op, nametag: clean(op.nametag) };
    case "swarm.contact":
      return {
        op: op.op,
        nametag: clean(op.nametag),
        contact: clean(op.contact),
        agent: maybe(op.agentId),
        sent: op.sent ?? 0,
        received: op.received ?? 0,
        known: op.known ? true : undefined,
      };
    case "wait.begin":
      return {
        op: op.op,
        id: clean(op.id),
        from: clean(op.from),
        runId: clean(op.runId),
        ...("agentId" in op.to ? { to: clean(op.to.agentId) } : { key: clean(op.to.sessionKey) }),
      };
    case "wait.end":
      return { op: op.op, id: clean(op.id) };
    case "budget.reserve": {
      const rows = op.rows.map(({ key, limit }) => ({ key: clean(key), limit }));
      return { op: op.op, byOwner: true, id: clean(op.id), runId: clean(op.runId), call: op.call, rows };
    }
    case "budget.told":
      return { op: op.op, byOwner: true, key: clean(op.key) };
    case "budget.settle":
      return {
        op: op.op,
        id: clean(op.id),
        ...(op.actual === "unknown" ? {} : op.actual),
        estimated: op.estimated,
      };
    case "budget.forfeit":
      return { op: op.op, runId: clean(op.runId) };
    case "budget.lift":
      return { op: op.op, key: clean(op.key), ...op.more };
    case "budget.sweep":
      return { op: op.op, reservedBefore: whole(op.reservedBefore), rowsBefore: whole(op.rowsBefore) };
    case "job.put":
      return { ...wireJob(op.job), op: op.op, expect: op.expect };
    case "job.remove":
      return { op: op.op, id: clean(op.id), word: jobWord(op.id), expect: op.expect };
    case "job.slot": {
      const { jobId, slot } = op.slot;
      return {
        op: op.op,
        id: clean(jobId),
        slot: clean(slot),
        at: whole(op.slot.at),
        row: JSON.stringify(op.slot),
      };
    }
    case "job.delivered": {
      const { job, row } = read.get(jobRanKey(op)) ?? {};
      return {
        ...(job ? wireJob(jobAfterDelivery(job, row, op.told)) : {}),
        // Both write what the job and its slot's row become.
        op: "job.ran",
        id: clean(op.jobId),
        word: jobWord(op.jobId),
        slot: clean(op.slot),
        version: job ? versionOf(job) : 0,
        row: row && JSON.stringify(slotAfterDelivery(row, op.told)),
      };
    }
    case "job.ran": {
      const { job, row } = read.get(jobRanKey(op)) ?? {};
      const { failed: _, manual: __, ...told } = op.end;
      const after = job && jobAfterRun(job, op.end);
      return {
        ...(after ? wireJob(after) : {}),
        op: op.op,
        id: clean(op.jobId),
        word: jobWord(op.jobId),
        slot: clean(op.slot),
        version: job ? versionOf(job) : 0,
        row: row && JSON.stringify({ ...row, end: told }),
      };
    }
    case "subagent.put": {
      const { runId, requesterSessionKey, endedAt, archiveAtMs } = op.record;
      return {
        op: op.op,
        runId: clean(runId),
        requester: clean(requesterSessionKey),
        record: JSON.stringify(op.record),
        ended: endedAt === undefined ? undefined : true,
        dueAt: archiveAtMs,
        expect: op.expect,
      };
    }
    case "subagent.remove":
      return { op: op.op, runId: clean(op.runId) };
    case "fact.put":
      return {
        op: op.op,
        key: clean(op.key),
        value: op.value === null ? undefined : clean(op.value),
        expect: op.expect === undefined ? undefined : [op.expect === null ? null : clean(op.expect)],
      };
    case "prune":
      return { op: op.op, what: op.what, before: whole(op.before), limit: op.limit, after: op.after };
    default:
      return unreachable(op, "op");
  }
}
