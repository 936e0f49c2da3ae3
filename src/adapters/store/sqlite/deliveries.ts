/** The table `deliveries`: the outbox. Every move names the state it starts from, so that of two senders one wins (L12). */
import type { DeliveryState, NewDelivery, WaitingState } from "../../../core/delivery/delivery.ts";
import { ENDED_STATES, OPEN_STATES, SENDABLE_STATES, WAITING_STATES } from "../../../core/delivery/delivery-states.ts";
import { targetKey, targetKeysOf } from "../../../core/delivery/target-key.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type DeliveryRow, deliveryOf, firstInOrder, readablePage, waitingCounts } from "../rows.ts";
import { type Applying, ownerOf } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { RefusedChange } from "./refused.ts";

const SELECT_FROM = `SELECT deliveries.n, deliveries.id, agents.id AS agent_id, deliveries.run_id, deliveries.state, deliveries.attempts, deliveries.node, deliveries.next_at,
  deliveries.created_at, deliveries.ended_at, deliveries.reason, deliveries.receipt, deliveries.target, deliveries.payload
FROM deliveries JOIN agents ON agents.no = deliveries.agent`;
const SELECT = `${SELECT_FROM} WHERE deliveries.id = ?`;
const SELECT_HEAD = `${SELECT_FROM}
WHERE deliveries.target = ? AND deliveries.state IN ('pending', 'sending') ORDER BY deliveries.n LIMIT 1`;
const SELECT_UNCONFIRMED = `${SELECT_FROM}
WHERE deliveries.target = ? AND deliveries.state = 'unconfirmed' ORDER BY deliveries.n DESC LIMIT ?`;
const SELECT_OPEN = `${SELECT_FROM}
WHERE deliveries.state IN ('pending', 'sending') AND deliveries.n > ? ORDER BY deliveries.n LIMIT ?`;
const SELECT_WAITING = `${SELECT_FROM}
WHERE deliveries.state IN ('waiting-reader', 'unroutable') AND deliveries.state IN (SELECT value FROM json_each(?))
  AND deliveries.n > ? ORDER BY deliveries.n LIMIT ?`;
const SELECT_MAILBOX = `${SELECT_FROM}
WHERE deliveries.target = ? AND deliveries.state = 'waiting-reader' AND deliveries.n > ? ORDER BY deliveries.n LIMIT ?`;
const SELECT_MAILBOXES = `${SELECT_FROM}
WHERE deliveries.target >= ? AND deliveries.target < ? AND deliveries.state = 'waiting-reader'
ORDER BY deliveries.target, deliveries.n LIMIT ?`;
const SELECT_FULL = `SELECT target, count(*) AS count FROM deliveries WHERE state = 'waiting-reader'
GROUP BY target HAVING count(*) > ? ORDER BY target`;
const COUNT_WAITING = `SELECT state, count(*) AS count FROM deliveries WHERE state IN ('waiting-reader', 'unroutable') GROUP BY state`;
const SELECT_IN = `${SELECT_FROM}
WHERE deliveries.n > ? AND deliveries.state IN (SELECT value FROM json_each(?)) ORDER BY deliveries.n LIMIT ?`;
const SELECT_OF_AGENT = `${SELECT_FROM}
WHERE deliveries.agent = (SELECT no FROM agents WHERE id = ?) AND deliveries.n > ?
  AND deliveries.state IN (SELECT value FROM json_each(?)) ORDER BY deliveries.n LIMIT ?`;
const SELECT_OPEN_TO = "SELECT 1 FROM deliveries WHERE target = ? AND state IN ('pending', 'sending') LIMIT 1";
const SELECT_GUARD = "SELECT n, agent, state, attempts FROM deliveries WHERE id = ?";
const INSERT = `INSERT INTO deliveries (id, agent, run_id, state, attempts, next_at, created_at, ended_at, reason, target, payload)
VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`;
const MOVE = `UPDATE deliveries
SET state = ?, attempts = ?, node = coalesce(?, node), next_at = ?, ended_at = ?, reason = ?, receipt = coalesce(?, receipt)
WHERE n = ?`;
const REQUEUE =
  "UPDATE deliveries SET n = (SELECT max(n) + 1 FROM deliveries), created_at = ?, target = coalesce(?, target), payload = coalesce(?, payload) WHERE n = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

type DeliveryReads =
  | "deliveries"
  | "delivery"
  | "deliveryHead"
  | "fullMailboxes"
  | "mailbox"
  | "mailboxesOf"
  | "unconfirmed"
  | "waitingDeliveries";

const ENDED: readonly DeliveryState[] = ENDED_STATES;
const SENDABLE = SENDABLE_STATES.join();
const WAITING: readonly DeliveryState[] = WAITING_STATES;

export function deliveryReads(db: Database): Pick<StoreReader, DeliveryReads> {
  const one = (text: string, value: string) => {
    const row = db.get<DeliveryRow>(text, value);
    return row && deliveryOf(row);
  };
  const page = (text: string, limit: number, ...values: (string | number)[]) =>
    readablePage(limit, deliveryOf, (asked) => db.all<DeliveryRow>(text, ...values, asked));
  return {
    delivery: async (id) => one(SELECT, id),
    deliveryHead: async (target) => one(SELECT_HEAD, target),
    unconfirmed: async (target, { limit }) => page(SELECT_UNCONFIRMED, limit, target),
    deliveries: async ({ afterN = 0, limit, states, agentId }) => {
      const filter = JSON.stringify(states ?? OPEN_STATES);
      if (agentId) return page(SELECT_OF_AGENT, limit, agentId, afterN, filter);
      if (states?.every((state) => WAITING.includes(state))) return page(SELECT_WAITING, limit, filter, afterN);
      if (states?.join() === SENDABLE) return page(SELECT_OPEN, limit, afterN);
      if (states) return page(SELECT_IN, limit, afterN, filter);
      const waiting = await page(SELECT_WAITING, limit, filter, afterN);
      return firstInOrder([...(await page(SELECT_OPEN, limit, afterN)), ...waiting], limit);
    },
    mailbox: async (target, { afterN = 0, limit }) => page(SELECT_MAILBOX, limit, target, afterN),
    mailboxesOf: async (channel, { limit }) => page(SELECT_MAILBOXES, limit, ...targetKeysOf(channel)),
    fullMailboxes: async (limit) => db.all<{ target: string; count: number }>(SELECT_FULL, limit),
    waitingDeliveries: async () => waitingCounts(db.all<{ state: WaitingState; count: number }>(COUNT_WAITING)),
  };
}

export function addDelivery(applying: Applying, { delivery }: OpOf<"delivery.add">): OpResult | undefined {
  const { db } = applying;
  const owner = ownerOf(applying);
  const target = targetKey(delivery.target);
  const isNext = !delivery.ended && !delivery.waits && db.get(SELECT_OPEN_TO, target) === undefined;
  insertDelivery(db, owner.no, delivery, applying.change.at);
  applying.touched.add(owner.no);
  return isNext ? { op: "delivery.add", next: delivery.id } : undefined;
}

/** `no`: the number of its agent. `at`: the time of the change. */
export function insertDelivery(db: Database, no: number, delivery: NewDelivery, at: number): void {
  const { id, runId, ended, waits, createdAt, target, payload } = delivery;
  const { state = "pending", reason = null } = ended ?? waits ?? {};
  const times = [createdAt, createdAt, ended ? at : null];
  db.run(INSERT, id, no, runId ?? null, state, ...times, reason, targetKey(target), JSON.stringify(payload));
}

export function moveDelivery({ db, change, touched }: Applying, op: OpOf<"delivery.move">): undefined {
  const row = db.get<Pick<DeliveryRow, "n" | "state" | "attempts"> & { agent: number }>(SELECT_GUARD, op.id);
  if (!row) throw new RefusedChange("missing", `There is no delivery ${op.id}.`);
  if (row.state !== op.from || row.attempts !== op.attempts) {
    throw new RefusedChange("conflict", `Delivery ${op.id} is ${row.state} after ${row.attempts} attempts.`);
  }
  const attempts = op.to === "sending" ? op.attempts + 1 : op.attempts;
  db.run(
    MOVE,
    op.to,
    attempts,
    op.node ?? null,
    op.nextAt ?? change.at,
    ENDED.includes(op.to) ? change.at : null,
    op.reason ?? null,
    op.receipt ?? null,
    row.n,
  );
  // A separate statement, because a new row number rewrites the row in every index.
  if (op.toTail) {
    const target = op.target === undefined ? null : targetKey(op.target);
    db.run(REQUEUE, change.at, target, op.payload === undefined ? null : JSON.stringify(op.payload), row.n);
  }
  touched.add(row.agent);
}
