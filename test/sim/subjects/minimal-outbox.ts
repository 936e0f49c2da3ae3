/**
 * How the minimal actor sends: the oldest delivery of each target, committed as `sending` before the call, and what was
 * found `sending` after a death is sent again, looked up or given up as unconfirmed, as its channel allows (M16, M17).
 */

import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import { targetKey } from "../../../src/core/delivery/target-key.ts";
import { sleep } from "../../../src/core/ports/clock.ts";
import type { Connector } from "../../../src/core/ports/connector.ts";
import type { Op } from "../../../src/core/store/change.ts";
import type { NodeRecord } from "../../../src/core/store/store.ts";
import type { Actor, Membership } from "./minimal-actor.ts";

type End = {
  readonly to: "sent" | "failed" | "unconfirmed" | "pending";
  readonly reason?: string;
  readonly receipt?: string;
};

export class Outbox {
  readonly #actor: Actor;
  /** The targets with a send in progress. */
  readonly #busy = new Set<string>();
  readonly #seen = new Map<number, { readonly leaseUntil: number; readonly since: number }>();
  #pumping = false;
  #again = false;

  constructor(actor: Actor) {
    this.#actor = actor;
  }

  /** How many sends are in progress. */
  get sending(): number {
    return this.#busy.size;
  }

  pump(mine: Membership): void {
    if (mine.left || this.#actor.draining()) return;
    if (this.#pumping) {
      this.#again = true;
      return;
    }
    this.#pumping = true;
    this.#again = false;
    void this.#sendHeads(mine)
      .catch(() => undefined)
      .finally(() => {
        this.#pumping = false;
        if (this.#again) this.pump(mine);
      });
  }

  /** A silent node is dead if its lease was not renewed for longer than a lease, by our own monotonic clock (M23). */
  #isDead(record: NodeRecord | undefined): boolean {
    const { ports, self } = this.#actor;
    if (!record || record.left) return true;
    const last = this.#seen.get(record.node);
    if (last?.leaseUntil !== record.leaseUntil) {
      this.#seen.set(record.node, { leaseUntil: record.leaseUntil, since: ports.clock.monotonic() });
      return false;
    }
    return ports.clock.monotonic() - last.since > self.leaseMs * 1.5;
  }

  /** Sends the oldest delivery of each target that is due. */
  async #sendHeads(mine: Membership): Promise<void> {
    const { ports, quirks, holds } = this.#actor;
    const { store, clock } = ports;
    const heads = new Map<string, Delivery>();
    for (const delivery of await store.deliveries({ limit: 500 })) {
      const key = quirks.sendAllAtOnce ? delivery.id : targetKey(delivery.target);
      if (!heads.has(key)) heads.set(key, delivery);
    }
    const nodes = [...heads.values()].some(({ state }) => state === "sending") ? await store.nodes() : [];
    for (const [key, delivery] of heads) {
      const { state, nextAt, node: sender } = delivery;
      if (this.#busy.has(key) || !holds(mine)) continue;
      if (state === "pending" && nextAt > clock.now()) continue;
      if (state === "sending") {
        const orphan = sender === mine.node || this.#isDead(nodes.find(({ node }) => node === sender));
        if (!orphan || quirks.forgetSending) continue;
      }
      this.#busy.add(key);
      void this.#send(mine, delivery).finally(() => {
        this.#busy.delete(key);
        this.pump(mine);
      });
    }
  }

  async #send(mine: Membership, delivery: Delivery): Promise<void> {
    const { ports, quirks, commit } = this.#actor;
    const { id, state, attempts } = delivery;
    const connector = ports.connectors.get(delivery.target.channel ?? "");
    if (!connector) return;
    const marked = !quirks.noSendingMark;
    if (marked) {
      const site = state === "sending" ? "send.takeover" : "send.mark";
      const op: Op = { op: "delivery.move", id, from: state, attempts, to: "sending", node: mine.node };
      if (!(await commit(site, [op])).ok) return;
    }
    const end = await this.#outcome(mine, connector, delivery);
    if (!end) return;
    const backoff = Math.min(200 * 2 ** attempts, 5_000);
    await commit("send.end", [
      {
        op: "delivery.move",
        id,
        from: marked ? "sending" : state,
        attempts: attempts + (marked ? 1 : 0),
        nextAt: ports.clock.now() + backoff,
        ...end,
      },
    ]);
  }

  /** Sends or looks up, as the channel's class allows. Undefined: the lease ended, another node will find it `sending`. */
  async #outcome(mine: Membership, connector: Connector, delivery: Delivery): Promise<End | undefined> {
    const { holds, quirks } = this.#actor;
    const { sendingClass, lookup } = connector;
    if (delivery.state === "sending") {
      if (sendingClass === "ambiguous") return { to: "unconfirmed", reason: "the process stopped while sending" };
      if (lookup && (await this.#lookup(mine, connector, delivery)) === "arrived") return { to: "sent" };
    }
    if (!holds(mine)) return undefined;
    const result = await connector.send(delivery, mine.ended.signal);
    switch (result.status) {
      case "sent":
        return { to: "sent", receipt: result.receipt };
      case "refused":
        return quirks.hideRefusal ? { to: "sent" } : { to: "failed", reason: result.reason };
      case "retry":
        return { to: "pending", reason: result.reason };
      case "unknown":
        if (sendingClass === "ambiguous") return { to: "unconfirmed", reason: result.reason };
        if (lookup) {
          const answer = await this.#lookup(mine, connector, delivery);
          if (answer !== "absent") return answer && { to: "sent" };
        }
        return { to: "pending", reason: result.reason };
    }
  }

  /** Asks until the channel has a definite answer. Undefined: the lease ended first. */
  async #lookup(mine: Membership, connector: Connector, delivery: Delivery): Promise<"arrived" | "absent" | undefined> {
    while (this.#actor.holds(mine)) {
      const answer = (await connector.lookup?.(delivery)) ?? "absent";
      if (answer !== "unknown") return answer;
      await sleep(this.#actor.ports.clock, 300);
    }
    return undefined;
  }
}
