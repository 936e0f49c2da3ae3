/** The table `deliveries`: the outbox. Reads, and how ops on it are sent. */
import type { DeliveryState, NewDelivery, WaitingState } from "../../../core/delivery/delivery.ts";
import { OPEN_STATES, SENDABLE_STATES, WAITING_STATES } from "../../../core/delivery/delivery-states.ts";
import { targetKey, targetKeysOf } from "../../../core/delivery/target-key.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type DeliveryRow, deliveryOf, firstInOrder, readablePage, waitingCounts } from "../rows.ts";
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
const SELECT_UNCONFIRMED: Statement = {
  name: "select-unconfirmed-deliveries",
  types: ["text", "bigint"],
  text: `${SELECT_FROM} WHERE target = $1 AND state = 'unconfirmed' ORDER BY n DESC LIMIT $2`,
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
const SELECT_WAITING: Statement = {
  name: "select-waiting-deliveries",
  text: `${SELECT_FROM} WHERE state IN ('waiting-reader', 'unroutable') AND state = ANY ($2::text[]) AND n > $1 ORDER BY n LIMIT $3`,
};
const SELECT_MAILBOX: Statement = {
  name: "select-mailbox",
  text: `${SELECT_FROM} WHERE target = $1 AND state = 'waiting-reader' AND n > $2 ORDER BY n LIMIT $3`,
};
const SELECT_MAILBOXES: Statement = {
  name: "select-mailboxes-of",
  text: `${SELECT_FROM} WHERE target >= $1 AND target < $2 AND state = 'waiting-reader' ORDER BY target, n LIMIT $3`,
};
const SELECT_FULL: Statement = {
  name: "select-full-mailboxes",
  text: `SELECT target, count(*) AS count FROM deliveries WHERE state = 'waiting-reader'
GROUP BY target HAVING count(*) > $1 ORDER BY target`,
};
const COUNT_WAITING: Statement = {
  name: "count-waiting-deliveries",
  text: "SELECT state, count(*) AS count FROM deliveries WHERE state IN ('waiting-reader', 'unroutable') GROUP BY state",
};
const SELECT_OF_AGENT: Statement = {
  name: "select-deliveries-of",
  text: `${SELECT_FROM} WHERE agent = $1 AND n > $2 AND state = ANY ($3::text[]) ORDER BY n LIMIT $4`,
};

const SENDABLE = SENDABLE_STATES.join();
const WAITING: readonly DeliveryState[] = WAITING_STATES;
const FAILED = ["failed", "unconfirmed"];

type DeliveryReads =
  | "deliveries"
  | "delivery"
  | "deliveryHead"
  | "fullMailboxes"
  | "mailbox"
  | "mailboxesOf"
  | "unconfirmed"
  | "waitingDeliveries";

export function deliveryReads(connections: Connections): Pick<StoreReader, DeliveryReads> {
  const one = async (statement: Statement, value: string) => {
    const row = await connections.one<DeliveryRow>(statement, value);
    return row && deliveryOf(row);
  };
  const page = (statement: Statement, limit: number, ...values: readonly unknown[]) =>
    readablePage(limit, deliveryOf, (asked) => connections.all<DeliveryRow>(statement, ...values, asked));
  return {
    delivery: (id) => one(SELECT, id),
    deliveryHead: (target) => one(SELECT_HEAD, target),
    unconfirmed: (target, { limit }) => page(SELECT_UNCONFIRMED, limit, target),
    deliveries: async ({ afterN = 0, limit, states, agentId }) => {
      if (agentId) return page(SELECT_OF_AGENT, limit, agentId, afterN, states ?? OPEN_STATES);
      if (!states) {
        const waiting = await page(SELECT_WAITING, limit, afterN, WAITING);
        return firstInOrder([...(await page(SELECT_OPEN, limit, afterN)), ...waiting], limit);
      }
      if (states.join() === SENDABLE) return page(SELECT_OPEN, limit, afterN);
      if (states.every((state) => WAITING.includes(state))) return page(SELECT_WAITING, limit, afterN, states);
      const onlyFailed = states.every((state) => FAILED.includes(state));
      return page(onlyFailed ? SELECT_FAILED : SELECT_IN, limit, afterN, states);
    },
    mailbox: (target, { afterN = 0, limit }) => page(SELECT_MAILBOX, limit, target, afterN),
    mailboxesOf: (channel, { limit }) => page(SELECT_MAILBOXES, limit, ...targetKeysOf(channel)),
    fullMailboxes: (limit) => connections.all<{ target: string; count: number }>(SELECT_FULL, limit),
    waitingDeliveries: async () =>
      waitingCounts(await connections.all<{ state: WaitingState; count: number }>(COUNT_WAITING)),
  };
}

export const deliveryWire = ({ id, runId, target, payload, createdAt, ended, waits }: NewDelivery) => ({
  id: clean(id),
  runId: cleanIfAny(runId),
  at: whole(createdAt),
  state: (ended ?? waits)?.state,
  ended: ended && true,
  reason: cleanIfAny((ended ?? waits)?.reason),
  target: clean(targetKey(target)),
  payload: JSON.stringify(payload),
});

export const deliveryOps: OpForms<"delivery.add" | "delivery.move"> = {
  "delivery.add": {
    byOwner: true,
    wire: ({ delivery }) => deliveryWire(delivery),
    batch: ({ delivery: { id, runId, target, payload, createdAt, ended, waits } }, { agent, at, add }) =>
      add("owed", {
        id: clean(id),
        agent,
        run: cleanIfAny(runId),
        state: (ended ?? waits)?.state,
        at: Math.trunc(createdAt),
        ended: ended && at,
        reason: cleanIfAny((ended ?? waits)?.reason),
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
      target: op.target && clean(targetKey(op.target)),
      payload: JSON.stringify(op.payload),
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
