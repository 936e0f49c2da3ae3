/** The store's reads on SQLite: rows in, records out. Nothing here writes, and nothing here scans a table that grows. */
import type { AgentRecord } from "../../../core/agent/agent.ts";
import type { SwarmContact } from "../../../core/agent/swarm.ts";
import type { Delivery } from "../../../core/delivery/delivery.ts";
import type { AgentId, ChangeId } from "../../../core/ids.ts";
import { messageId } from "../../../core/ids.ts";
import type { Message } from "../../../core/message/message.ts";
import type { RunRecord } from "../../../core/run/run.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { CommitResult, OpResult } from "../../../core/store/change.ts";
import type { StoreReader, SubagentRunFilter } from "../../../core/store/store.ts";
import type { WaitEdge } from "../../../core/store/wait.ts";
import { readable, readablePage, storedJson } from "../rows.ts";
import { budgetOf, reservationOf, usageOf } from "./budget-rows.ts";
import type { Database } from "./database.ts";

type Row = Record<string, unknown>;

const json = storedJson;
const opt = <T>(value: unknown): T | undefined => (value === null || value === undefined ? undefined : (value as T));

export function agentOf(row: Row): AgentRecord {
  return {
    id: row.id as AgentRecord["id"],
    sessionKey: row.session_key as AgentRecord["sessionKey"],
    profile: row.profile as string,
    descriptor: json(row.descriptor),
    state: json(row.state),
    sessionId: row.session_id as AgentRecord["sessionId"],
    nextSeq: row.next_seq as number,
    cursor: row.cursor as number,
    waiting: row.waiting as number,
    nextPos: row.next_pos as number,
    leaf: row.leaf as AgentRecord["leaf"],
    runId: opt(row.run_id),
    node: opt(row.node),
    epoch: row.epoch as number,
    lastHumanAt: opt(row.last_human_at),
    stopped: row.stopped === null ? undefined : json(row.stopped),
    createdAt: row.created_at as number,
  };
}

export function messageOf(agentId: AgentId, row: Row): Message {
  const seq = row.seq as number;
  return {
    ...json<Message>(row.message),
    id: messageId(agentId, seq),
    agentId,
    seq,
    state: row.state as Message["state"],
    runId: opt(row.run_id),
    reason: opt(row.reason),
    settledAt: opt(row.settled_at),
  };
}

export function runOf(row: Row): RunRecord {
  return {
    id: row.id as RunRecord["id"],
    agentId: row.agent_id as AgentId,
    sessionId: row.session_id as RunRecord["sessionId"],
    state: row.state as RunRecord["state"],
    attempt: row.attempt as number,
    step: row.step as number,
    startedAt: row.started_at as number,
    endedAt: opt(row.ended_at),
    outcome: opt(row.outcome),
    abort: row.abort === null ? undefined : json(row.abort),
    body: json(row.body),
  };
}

export function deliveryOf(row: Row): Delivery {
  return {
    n: row.n as number,
    id: row.id as Delivery["id"],
    agentId: row.agent_id as AgentId,
    runId: opt(row.run_id),
    target: json(row.target),
    payload: json(row.payload),
    state: row.state as Delivery["state"],
    attempts: row.attempts as number,
    node: opt(row.node),
    nextAt: row.next_at as number,
    createdAt: row.created_at as number,
    endedAt: opt(row.ended_at),
    reason: opt(row.reason),
    receipt: opt(row.receipt),
  };
}

export const contactOf = (row: Row): SwarmContact => ({
  swarm: row.swarm as string,
  contact: row.contact as AgentId,
  agentId: opt(row.agent),
  messagesSent: row.sent as number,
  messagesReceived: row.received as number,
  firstContactAt: row.first_at as number,
  lastContactAt: row.last_at as number,
});

export const waitOf = (row: Row): WaitEdge => ({
  id: row.id as string,
  from: row.waiter as AgentId,
  to: row.awaited as AgentId,
  runId: row.run_id as WaitEdge["runId"],
  since: row.since as number,
});

/** What became of a change, or undefined where it was not applied. */
export function outcomeOf(db: Database, id: ChangeId): CommitResult | undefined {
  const row = db.statement("select-change").get(id);
  if (!row) return undefined;
  const results = row.result === null ? [] : json<(OpResult | null)[]>(row.result);
  return { ok: true, results: results.map((result) => result ?? undefined) };
}

function subagentRows(db: Database, filter?: SubagentRunFilter): Row[] {
  if (!filter) return db.statement("select-subagent-runs").all();
  if ("requesterSessionKey" in filter) return db.statement("select-subagent-runs-of").all(filter.requesterSessionKey);
  if ("open" in filter) return db.statement("select-open-subagent-runs").all();
  return db.statement("select-due-subagent-runs").all(filter.dueBy, filter.limit);
}

export function readerOf(db: Database): StoreReader {
  const one = <T>(row: Row | undefined, of: (row: Row) => T): T | undefined => (row ? of(row) : undefined);
  const records = <T>(rows: Row[], column: string): T[] => readable(rows, (row) => json<T>(row[column]));
  /** The limit is the last of a statement's values. */
  const page = <T>(
    limit: number,
    of: (row: Row) => T,
    name: string,
    ...values: (string | number | null)[]
  ): Promise<T[]> => readablePage(limit, of, (asked) => db.statement(name).all(...values, asked));
  const FAR = Number.MAX_SAFE_INTEGER;
  return {
    agent: async (id) => one(db.statement("select-agent").get(id), agentOf),
    agentByKey: async (key) => one(db.statement("select-agent-by-key").get(key), agentOf),
    agentFor: async (strategy) => {
      const name = strategy === "heartbeat" ? "select-most-recent-heartbeat" : "select-most-recent-foreground";
      return (await page(1, agentOf, name))[0];
    },
    agents: ({ after, limit, newest }) =>
      page(limit, agentOf, newest ? "select-agents-newest" : "select-agents", after ?? null),
    roots: ({ after, limit }) => page(limit, agentOf, "select-roots", after ?? null),
    busyAgents: ({ after, limit }) => page(limit, agentOf, "select-busy-agents", after ?? null),
    children: (agentId, { after, limit }) => page(limit, agentOf, "select-children", agentId, after ?? null),
    agentsOfKind: (kind, { after, limit }) => page(limit, agentOf, "select-agents-of-kind", kind, after ?? null),
    waiting: async (agentId, { afterSeq = 0, limit, urgent }) =>
      db
        .statement(urgent ? "select-waiting-urgent" : "select-waiting")
        .all(agentId, afterSeq, limit)
        .map((row) => messageOf(agentId, row)),
    message: async (agentId, seq) =>
      one(db.statement("select-message").get(agentId, seq), (row) => messageOf(agentId, row)),
    messages: async (agentId, { beforeSeq = FAR, limit, states }) => {
      const filter = states ? JSON.stringify(states) : null;
      return db
        .statement("select-messages")
        .all(agentId, beforeSeq, filter, filter, limit)
        .map((row) => messageOf(agentId, row));
    },
    linesBack: async (agentId, { before = FAR, limit }) =>
      db
        .statement("select-lines-back")
        .all(agentId, before, limit)
        .map((row) => ({ position: row.pos as number, line: row.line as string })),
    run: async (id) => one(db.statement("select-run").get(id), runOf),
    runs: async (agentId, { limit }) => db.statement("select-runs").all(agentId, limit).map(runOf),
    delivery: async (id) => one(db.statement("select-delivery").get(id), deliveryOf),
    deliveryHead: async (target) => one(db.statement("select-delivery-head").get(target), deliveryOf),
    deliveries: async ({ afterN = 0, limit, states, agentId }) => {
      const filter = JSON.stringify(states ?? ["pending", "sending"]);
      if (agentId) return page(limit, deliveryOf, "select-deliveries-of", agentId, afterN, filter);
      if (states) return page(limit, deliveryOf, "select-deliveries-in", afterN, filter);
      return page(limit, deliveryOf, "select-open-deliveries", afterN);
    },
    job: async (id) => one(db.statement("select-job").get(id), (row) => json(row.job)),
    jobs: async (asked) =>
      asked
        ? page(asked.limit, (row) => json(row.job), "select-jobs-page", asked.after ?? "")
        : records(db.statement("select-jobs").all(), "job"),
    nextJobs: ({ before = FAR, limit }) => page(limit, (row) => json(row.job), "select-next-jobs", before),
    jobSlots: async (jobId, { beforeN = FAR, limit }) =>
      db
        .statement("select-job-slots")
        .all(jobId, beforeN, limit)
        .map((row) => ({ ...json<JobSlot>(row.row), n: row.n as number })),
    jobSlot: async (jobId, slot) => one(db.statement("select-job-slot").get(jobId, slot), (row) => json(row.row)),
    subagentRun: async (runId) => one(db.statement("select-subagent-run").get(runId), (row) => json(row.record)),
    subagentRuns: async (filter) => records(subagentRows(db, filter), "record"),
    openSubagentRuns: async (requesterSessionKey) =>
      Number(db.statement("count-open-subagent-runs").get(requesterSessionKey)?.open ?? 0),
    budget: async (key) => one(db.statement("select-budget").get(key), budgetOf),
    budgets: async ({ after = "", limit }) => db.statement("select-budgets").all(after, limit).map(budgetOf),
    reservations: async ({ limit }) => db.statement("select-reservations").all(limit).map(reservationOf),
    usageSince: async (at) => db.statement("select-usage-since").all(at).map(usageOf),
    waits: async ({ from, after = "", limit }) =>
      (from === undefined
        ? db.statement("select-waits").all(after, limit)
        : db.statement("select-waits-of").all(from, limit)
      ).map(waitOf),
    swarm: async (nametag) => one(db.statement("select-swarm").get(nametag), (row) => json(row.record)),
    swarms: async ({ after = "", limit }) => page(limit, (row) => json(row.record), "select-swarms", after),
    swarmContact: async (nametag, contact) =>
      one(db.statement("select-swarm-contact").get(nametag, contact), contactOf),
    swarmContacts: async (nametag, { limit }) =>
      db.statement("select-swarm-contacts").all(nametag, limit).map(contactOf),
    fact: async (key) => opt<string>(db.statement("select-fact").get(key)?.value),
    nodes: async () =>
      db
        .statement("select-nodes")
        .all()
        .map((row) => ({
          node: row.node as number,
          name: row.name as string,
          leaseUntil: row.lease_until as number,
          left: row.gone === 1,
          returned: row.gone === 2,
        })),
  };
}
