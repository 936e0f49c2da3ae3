/** The table `deliveries`: the outbox. Reads, and how ops on it are sent. */
import { targetKey } from "../../../core/delivery/delivery.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type DeliveryRow, deliveryOf, readablePage } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean, cleanIfAny } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type OpForms, whole } from "./op-form.ts";

const SELECT_FROM =
  "SELECT n, id, agent AS agent_id, run_id, state, attempts, node, next_at, created_at, ended_at, reason, receipt, target, payload FROM deliveries";
const SELECT: Statement = { name: "select-delivery", types: ["text"], text: `${SELECT_FROM} WHERE id = $1` };
const SELECT_HEAD: Statement = {
  name: "select-delivery-head",
  types: ["text"],
  text: `${SELECT_FROM} WHERE target = $1 AND state IN ('pending', 'sending') ORDER BY n LIMIT 1`,
};
const SELECT_OPEN: Statement = {
  name: "select-open-deliveries",
  text: `${SELECT_FROM} WHERE state IN ('pending', 'sending') AND n > $1 ORDER BY n LIMIT $2`,
};
const SELECT_IN: Statement = {
  name: "select-deliveries-in",
  text: `${SELECT_FROM} WHERE n > $1 AND state = ANY ($2::text[]) ORDER BY n LIMIT $3`,
};
/** As `SELECT_IN`, but served by the partial index over deliveries that failed. */
const SELECT_FAILED: Statement = {
  name: "select-dead-deliveries",
  text: `${SELECT_FROM} WHERE state IN ('failed', 'unconfirmed') AND state = ANY ($2::text[]) AND n > $1 ORDER BY n LIMIT $3`,
};
const SELECT_OF_AGENT: Statement = {
  name: "select-deliveries-of",
  text: `${SELECT_FROM} WHERE agent = $1 AND n > $2 AND state = ANY ($3::text[]) ORDER BY n LIMIT $4`,
};

const OPEN = ["pending", "sending"];
const FAILED = ["failed", "unconfirmed"];

export function deliveryReads(connections: Connections): Pick<StoreReader, "deliveries" | "delivery" | "deliveryHead"> {
  const one = async (statement: Statement, value: string) => {
    const row = await connections.one<DeliveryRow>(statement, value);
    return row && deliveryOf(row);
  };
  const page = (statement: Statement, limit: number, ...values: readonly unknown[]) =>
    readablePage(limit, deliveryOf, (asked) => connections.all<DeliveryRow>(statement, ...values, asked));
  return {
    delivery: (id) => one(SELECT, id),
    deliveryHead: (target) => one(SELECT_HEAD, target),
    deliveries: ({ afterN = 0, limit, states, agentId }) => {
      if (agentId) return page(SELECT_OF_AGENT, limit, agentId, afterN, states ?? OPEN);
      if (!states) return page(SELECT_OPEN, limit, afterN);
      const onlyFailed = states.every((state) => FAILED.includes(state));
      return page(onlyFailed ? SELECT_FAILED : SELECT_IN, limit, afterN, states);
    },
  };
}

export const deliveryOps: OpForms<"delivery.add" | "delivery.move"> = {
  "delivery.add": {
    byOwner: true,
    wire: ({ delivery: { id, runId, target, payload, createdAt, ended } }) => ({
      id: clean(id),
      runId: cleanIfAny(runId),
      at: whole(createdAt),
      state: ended?.state,
      reason: cleanIfAny(ended?.reason),
      target: clean(targetKey(target)),
      payload: JSON.stringify(payload),
    }),
    batch: ({ delivery: { id, runId, target, payload, createdAt, ended } }, { agent, at, add }) =>
      add("owed", {
        id: clean(id),
        agent,
        run: cleanIfAny(runId),
        state: ended?.state,
        at: Math.trunc(createdAt),
        ended: at,
        reason: cleanIfAny(ended?.reason),
        target: clean(targetKey(target)),
        payload: JSON.stringify(payload),
      }),
  },
  "delivery.move": {
    wire: (op) => ({
      id: clean(op.id),
      from: op.from,
      attempts: op.attempts,
      to: op.to,
      nextAt: op.nextAt === undefined ? undefined : whole(op.nextAt),
      reason: cleanIfAny(op.reason),
      receipt: cleanIfAny(op.receipt),
      node: op.node,
      toTail: op.toTail || undefined,
    }),
    locks: ({ id }) => [["names", `delivery ${clean(id)}`]],
    batch: (op, batched) => {
      batched.also = "moved";
      batched.add("moved", {
        i: batched.i,
        id: clean(op.id),
        came: op.from,
        attempts: op.attempts,
        state: op.to,
        next: op.nextAt === undefined ? undefined : Math.trunc(op.nextAt),
        reason: cleanIfAny(op.reason),
        receipt: cleanIfAny(op.receipt),
        node: op.node,
        at: batched.at,
      });
    },
  },
};
