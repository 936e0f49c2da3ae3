/** What a person can do with deliveries: list them, send one again, drop one. Nothing disappears by itself (L5). */

import type { Delivery, DeliveryState } from "../../core/delivery/delivery.ts";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId, DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Change } from "../../core/store/change.ts";

type GatewayPorts = Pick<Ports, "store" | "ids" | "clock">;

export const listDeliveries = (
  { store }: Pick<Ports, "store">,
  filter: { states?: readonly DeliveryState[]; agentId?: AgentId; afterN?: number; limit?: number } = {},
): Promise<readonly Delivery[]> => store.deliveries({ limit: 100, ...filter });

/** Owes an ended delivery once more, behind all others (M17). The person asked for the repetition (L12). */
export async function retryDelivery(ports: GatewayPorts, id: DeliveryId): Promise<Delivery> {
  const delivery = await endedDelivery(ports, id, "sent again");
  await move(ports, delivery, "outbox.retry", { to: "pending", reason: "retried by a person", toTail: true });
  return { ...delivery, state: "pending" };
}

/** Gives up a delivery that waits to be tried again. */
export async function dropDelivery(ports: GatewayPorts, id: DeliveryId): Promise<Delivery> {
  const delivery = await ports.store.delivery(id);
  if (!delivery) throw new NotFoundError(`There is no delivery ${id}.`, { hint: "`rookery outbox` lists them." });
  if (delivery.state !== "pending") {
    throw new InvalidInputError(`Delivery ${id} is ${delivery.state} and cannot be dropped.`, {
      hint: "Only one that waits can be dropped.",
    });
  }
  await move(ports, delivery, "outbox.drop", { to: "failed", reason: "dropped by a person" });
  return { ...delivery, state: "failed" };
}

async function endedDelivery({ store }: GatewayPorts, id: DeliveryId, what: string): Promise<Delivery> {
  const delivery = await store.delivery(id);
  if (!delivery) throw new NotFoundError(`There is no delivery ${id}.`, { hint: "`rookery outbox` lists them." });
  if (delivery.state === "pending" || delivery.state === "sending") {
    throw new InvalidInputError(`Delivery ${id} is ${delivery.state}; only one that has ended can be ${what}.`);
  }
  return delivery;
}

async function move(
  { store, ids, clock }: GatewayPorts,
  delivery: Delivery,
  site: string,
  to: { to: DeliveryState; reason: string; toTail?: boolean },
): Promise<void> {
  const { id, state: from, attempts } = delivery;
  const change: Change = {
    id: ids.change(),
    site,
    at: clock.now(),
    ops: [{ op: "delivery.move", id, from, attempts, ...to }],
  };
  const result = await store.commit(change);
  if (!result.ok) throw new InvalidInputError(`Delivery ${id} has moved on meanwhile: ${result.detail}`);
}
