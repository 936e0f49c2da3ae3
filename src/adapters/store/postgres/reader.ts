/** The store's reads on PostgreSQL: rows in, records out. Nothing here writes, and nothing here scans a table that grows. */

import type { SubagentRunRecord } from "../../../core/agent/subagent-run.ts";
import type { SwarmRecord } from "../../../core/agent/swarm.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { JobSlot } from "../../../core/schedule/job-slot.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { readable, readablePage, storedJson } from "../rows.ts";
import { budgetOf, reservationOf, usageOf } from "../sqlite/budget-rows.ts";
import { agentOf, contactOf, deliveryOf, messageOf, runOf, waitOf } from "../sqlite/reader.ts";
import { clean } from "./clean-text.ts";
import type { Connections, Row } from "./connections.ts";

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
  /** The limit is the last of a statement's values. */
  const page = <T>(limit: number, of: (row: Row) => T, name: string, ...values: readonly unknown[]): Promise<T[]> =>
    readablePage(limit, of, (asked) => all(name, ...values, asked));
  const records = async <T>(name: string, ...values: readonly unknown[]): Promise<T[]> =>
    readable(await all(name, ...values), record<T>);
  const one = async <T>(of: (row: Row) => T, name: string, ...values: readonly unknown[]): Promise<T | undefined> => {
    const [row] = await all(name, ...values);
    return row && of(row);
  };
  const record = <T>(row: Row): T => storedJson<T>(Object.values(row)[0]);
  return {
    agent: (id) => one(agentOf, "select-agent", id),
    agentByKey: (key) => one(agentOf, "select-agent-by-key", key),
    agentFor: async (strategy) => {
      const name = strategy === "heartbeat" ? "select-most-recent-heartbeat" : "select-most-recent-foreground";
      return (await page(1, agentOf, name))[0];
    },
    agents: ({ after, limit, newest }) =>
      page(limit, agentOf, newest ? "select-agents-newest" : "select-agents", after ?? null),
    children: (agentId, { after, limit }) => page(limit, agentOf, "select-children", agentId, after ?? null),
    agentsOfKind: (kind, { after, limit }) => page(limit, agentOf, "select-agents-of-kind", kind, after ?? null),
    roots: ({ after, limit }) => page(limit, agentOf, "select-roots", after ?? null),
    busyAgents: ({ after, limit }) => page(limit, agentOf, "select-busy-agents", after ?? null),
    swarm: (nametag) => one(record<SwarmRecord>, "select-swarm", nametag),
    swarms: ({ after = "", limit }) => page(limit, record<SwarmRecord>, "select-swarms", after),
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
      if (agentId) return page(limit, deliveryOf, "select-deliveries-of", agentId, afterN, states ?? OPEN);
      if (!states) return page(limit, deliveryOf, "select-open-deliveries", afterN);
      const dead = states.every((state) => DEAD.includes(state));
      return page(limit, deliveryOf, dead ? "select-dead-deliveries" : "select-deliveries-in", afterN, states);
    },
    job: (id) => one(record<CronJob>, "select-job", id),
    jobs: (asked) =>
      asked
        ? page(asked.limit, record<CronJob>, "select-jobs-page", asked.after ?? "")
        : records<CronJob>("select-jobs"),
    nextJobs: ({ before = FAR, limit }) => page(limit, record<CronJob>, "select-next-jobs", before),
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
      if (!filter) return records<SubagentRunRecord>("select-subagent-runs");
      if ("requesterSessionKey" in filter)
        return records<SubagentRunRecord>("select-subagent-runs-of", filter.requesterSessionKey);
      if ("open" in filter) return records<SubagentRunRecord>("select-open-subagent-runs");
      return records<SubagentRunRecord>("select-due-subagent-runs", filter.dueBy, filter.limit);
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
