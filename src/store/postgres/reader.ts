/** The store's reads on PostgreSQL: rows in, records out. Nothing here writes, and nothing here scans a table that grows. */
import type { CronJob } from "../../core/job.ts";
import type { JobSlot } from "../../core/job-slot.ts";
import type { StoreReader } from "../../core/store.ts";
import type { SubagentRunRecord } from "../../core/subagent-run.ts";
import type { SwarmRecord } from "../../core/swarm.ts";
import { budgetOf, reservationOf, usageOf } from "../sqlite/budget-rows.ts";
import { agentOf, contactOf, deliveryOf, messageOf, runOf, waitOf } from "../sqlite/reader.ts";
import type { Connections, Row } from "./connections.ts";
import { clean } from "./wire.ts";

const FAR = Number.MAX_SAFE_INTEGER;
const OPEN = ["pending", "sending"];
const DEAD = ["failed", "unconfirmed"];

export function readerOf(connections: Connections): StoreReader {
  const all = (name: string, ...values: readonly unknown[]): Promise<readonly Row[]> =>
    connections.rows(
      name,
      values.map((value) => (typeof value === "string" ? clean(value) : value)),
    );
  const many = async <T>(of: (row: Row) => T, name: string, ...values: readonly unknown[]): Promise<T[]> =>
    (await all(name, ...values)).map((row) => of(row));
  const one = async <T>(of: (row: Row) => T, name: string, ...values: readonly unknown[]): Promise<T | undefined> => {
    const [row] = await all(name, ...values);
    return row && of(row);
  };
  const record = <T>(row: Row): T => JSON.parse(Object.values(row)[0] as string) as T;
  return {
    agent: (id) => one(agentOf, "select-agent", id),
    agentByKey: (key) => one(agentOf, "select-agent-by-key", key),
    agentFor: (strategy) =>
      one(agentOf, strategy === "heartbeat" ? "select-most-recent-heartbeat" : "select-most-recent-foreground"),
    agents: ({ after, limit, newest }) =>
      many(agentOf, newest ? "select-agents-newest" : "select-agents", after ?? null, limit),
    children: (agentId, { after, limit }) => many(agentOf, "select-children", agentId, after ?? null, limit),
    agentsOfKind: (kind, { after, limit }) => many(agentOf, "select-agents-of-kind", kind, after ?? null, limit),
    roots: ({ after, limit }) => many(agentOf, "select-roots", after ?? null, limit),
    busyAgents: ({ after, limit }) => many(agentOf, "select-busy-agents", after ?? null, limit),
    swarm: (nametag) => one(record<SwarmRecord>, "select-swarm", nametag),
    swarms: ({ after = "", limit }) => many(record<SwarmRecord>, "select-swarms", after, limit),
    swarmContact: (nametag, contact) => one(contactOf, "select-swarm-contact", nametag, contact),
    swarmContacts: (nametag, { limit }) => many(contactOf, "select-swarm-contacts", nametag, limit),
    waiting: (agentId, { afterSeq = 0, limit, urgent }) =>
      many(
        (row) => messageOf(agentId, row),
        urgent ? "select-waiting-urgent" : "select-waiting",
        agentId,
        afterSeq,
        limit,
      ),
    message: (agentId, seq) => one((row) => messageOf(agentId, row), "select-message", agentId, seq),
    messages: (agentId, { beforeSeq = FAR, limit, states }) =>
      many((row) => messageOf(agentId, row), "select-messages", agentId, beforeSeq, states ?? null, limit),
    linesBack: (agentId, { before = FAR, limit }) =>
      many(
        (row) => ({ position: row.pos as number, line: row.line as string }),
        "select-lines-back",
        agentId,
        before,
        limit,
      ),
    run: (id) => one(runOf, "select-run", id),
    runs: (agentId, { limit }) => many(runOf, "select-runs", agentId, limit),
    delivery: (id) => one(deliveryOf, "select-delivery", id),
    deliveryHead: (target) => one(deliveryOf, "select-delivery-head", target),
    deliveries: ({ afterN = 0, limit, states, agentId }) => {
      if (agentId) return many(deliveryOf, "select-deliveries-of", agentId, afterN, states ?? OPEN, limit);
      if (!states) return many(deliveryOf, "select-open-deliveries", afterN, limit);
      const dead = states.every((state) => DEAD.includes(state));
      return many(deliveryOf, dead ? "select-dead-deliveries" : "select-deliveries-in", afterN, states, limit);
    },
    job: (id) => one(record<CronJob>, "select-job", id),
    jobs: (page) =>
      page
        ? many(record<CronJob>, "select-jobs-page", page.after ?? "", page.limit)
        : many(record<CronJob>, "select-jobs"),
    nextJobs: ({ before = FAR, limit }) => many(record<CronJob>, "select-next-jobs", before, limit),
    jobSlots: (jobId, { beforeN = FAR, limit }) =>
      many(
        (row) => ({ ...(JSON.parse(row.row as string) as JobSlot), n: row.n as number }),
        "select-job-slots",
        jobId,
        beforeN,
        limit,
      ),
    jobSlot: (jobId, slot) => one(record<JobSlot>, "select-job-slot", jobId, slot),
    subagentRun: (runId) => one(record<SubagentRunRecord>, "select-subagent-run", runId),
    subagentRuns(filter) {
      if (!filter) return many(record<SubagentRunRecord>, "select-subagent-runs");
      if ("requesterSessionKey" in filter)
        return many(record<SubagentRunRecord>, "select-subagent-runs-of", filter.requesterSessionKey);
      if ("open" in filter) return many(record<SubagentRunRecord>, "select-open-subagent-runs");
      return many(record<SubagentRunRecord>, "select-due-subagent-runs", filter.dueBy, filter.limit);
    },
    openSubagentRuns: async (requesterSessionKey) =>
      (await one((row) => row.open as number, "count-open-subagent-runs", requesterSessionKey)) ?? 0,
    budget: (key) => one(budgetOf, "select-budget", key),
    budgets: ({ after = "", limit }) => many(budgetOf, "select-budgets", after, limit),
    reservations: ({ limit }) => many(reservationOf, "select-reservations", limit),
    usageSince: (at) => many(usageOf, "select-usage-since", at),
    waits: ({ from, after = "", limit }) =>
      from === undefined ? many(waitOf, "select-waits", after, limit) : many(waitOf, "select-waits-of", from, limit),
    fact: (key) => one((row) => row.value as string, "select-fact", key),
    nodes: () =>
      many(
        (row) => ({
          node: row.node as number,
          name: row.name as string,
          leaseUntil: row.lease_until as number,
          left: row.gone === 1,
          returned: row.gone === 2,
        }),
        "select-nodes",
      ),
  };
}
