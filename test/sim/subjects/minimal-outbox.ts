/**
 * How the minimal actor sends: the oldest delivery of each target, committed as `sending` before the call, and what was
 * found `sending` after a death is sent again, looked up or given up as unconfirmed, as its channel allows (M16, M17).
 */

import { type Delivery, targetKey } from "../../../src/core/delivery/delivery.ts";
import { sleep } from "../../../src/core/ports/clock.ts";
import type { Connector } from "../../../src/core/ports/connector.ts";
import type { NodeRecord } from "../../../src/core/store/store.ts";
import type { Actor, Membership } from "./minimal-actor.ts";

export interface Outbox {
  pump(mine: Membership): void;
  /** How many sends are under way. */
  sending(): number;
}

type End = {
  readonly to: "sent" | "failed" | "unconfirmed" | "pending";
  readonly reason?: string;
  readonly receipt?: string;
};

export function makeOutbox(actor: Actor): Outbox {
  const { store, clock, connectors } = actor.ports;
  const busy = new Set<string>();
  const seen = new Map<number, { readonly leaseUntil: number; readonly since: number }>();
  let pumping = false;
  let again = false;

  /** A silent node is dead once its lease has stood still for longer than a lease, by our own steady clock (M23). */
  function isDead(record: NodeRecord | undefined): boolean {
    if (!record || record.left) return true;
    const last = seen.get(record.node);
    if (last?.leaseUntil !== record.leaseUntil) {
      seen.set(record.node, { leaseUntil: record.leaseUntil, since: clock.monotonic() });
      return false;
    }
    return clock.monotonic() - last.since > actor.self.leaseMs * 1.5;
  }

  async function look(mine: Membership): Promise<void> {
    const open = await store.deliveries({ limit: 500 });
    const heads = new Map<string, Delivery>();
    for (const delivery of open) {
      const key = actor.quirks.sendAllAtOnce ? delivery.id : targetKey(delivery.target);
      if (!heads.has(key)) heads.set(key, delivery);
    }
    const nodes = [...heads.values()].some(({ state }) => state === "sending") ? await store.nodes() : [];
    for (const [key, delivery] of heads) {
      const { state, nextAt } = delivery;
      if (busy.has(key) || !actor.holds(mine)) continue;
      if (state === "pending" && nextAt > clock.now()) continue;
      if (state === "sending") {
        const sender = delivery.node;
        const orphan = sender === mine.node || isDead(nodes.find(({ node }) => node === sender));
        if (!orphan || actor.quirks.forgetSending) continue;
      }
      busy.add(key);
      void send(mine, delivery).finally(() => {
        busy.delete(key);
        pump(mine);
      });
    }
  }

  async function send(mine: Membership, delivery: Delivery): Promise<void> {
    const connector = connectors.get(delivery.target.channel ?? "");
    if (!connector) return;
    const marked = !actor.quirks.noSendingMark;
    if (marked) {
      const op = {
        op: "delivery.move",
        id: delivery.id,
        from: delivery.state,
        attempts: delivery.attempts,
        to: "sending",
      } as const;
      const result = await actor.commit(delivery.state === "sending" ? "send.takeover" : "send.mark", [
        { ...op, node: mine.node },
      ]);
      if (!result.ok) return;
    }
    const end = await outcome(mine, connector, delivery);
    if (!end) return;
    const backoff = Math.min(200 * 2 ** delivery.attempts, 5_000);
    await actor.commit("send.end", [
      {
        op: "delivery.move",
        id: delivery.id,
        from: marked ? "sending" : delivery.state,
        attempts: delivery.attempts + (marked ? 1 : 0),
        nextAt: clock.now() + backoff,
        ...end,
      },
    ]);
  }

  /** Sends or finds out, as the channel's class allows. Undefined: the lease ended, somebody else will find it `sending`. */
  async function outcome(mine: Membership, connector: Connector, delivery: Delivery): Promise<End | undefined> {
    const { sendingClass, lookup } = connector;
    if (delivery.state === "sending") {
      if (sendingClass === "ambiguous") return { to: "unconfirmed", reason: "the process stopped while sending" };
      if (lookup) {
        const answer = await lookedUp(mine, connector, delivery);
        if (answer === "arrived") return { to: "sent" };
      }
    }
    if (!actor.holds(mine)) return undefined;
    const result = await connector.send(delivery, mine.ended.signal);
    switch (result.status) {
      case "sent":
        return { to: "sent", receipt: result.receipt };
      case "refused":
        return actor.quirks.hideRefusal ? { to: "sent" } : { to: "failed", reason: result.reason };
      case "retry":
        return { to: "pending", reason: result.reason };
      case "unknown":
        if (sendingClass === "ambiguous") return { to: "unconfirmed", reason: result.reason };
        if (lookup) {
          const answer = await lookedUp(mine, connector, delivery);
          if (answer !== "absent") return answer && { to: "sent" };
        }
        return { to: "pending", reason: result.reason };
    }
  }

  /** Asks until the channel can tell. Undefined: the lease ended first. */
  async function lookedUp(
    mine: Membership,
    connector: Connector,
    delivery: Delivery,
  ): Promise<"arrived" | "absent" | undefined> {
    while (actor.holds(mine)) {
      const answer = (await connector.lookup?.(delivery)) ?? "absent";
      if (answer !== "unknown") return answer;
      await sleep(clock, 300);
    }
    return undefined;
  }

  function pump(mine: Membership): void {
    if (mine.left || actor.draining()) return;
    if (pumping) {
      again = true;
      return;
    }
    pumping = true;
    again = false;
    void look(mine)
      .catch(() => undefined)
      .finally(() => {
        pumping = false;
        if (again) pump(mine);
      });
  }

  return { pump, sending: () => busy.size };
}
