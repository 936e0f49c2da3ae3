/**
 * What a person can do with deliveries: list them, send one again, as it was or edited, drop one. No delivery disappears on its own
 * (L5). What someone does is one commit with its row of the audit log, and the delivery says who did it.
 */

import type { Delivery, DeliveryState } from "../../core/delivery/delivery.ts";
import { InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId, DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import { commitKnown } from "../commit/submit.ts";
import { type Actor, auditOp } from "../people/audit-entry.ts";
import { type DeliveryMove, moveChange } from "./send-delivery.ts";

/** Makes ops of the delivery as it becomes, which are committed with its move. */
type AlsoMoved = (delivery: Delivery) => readonly Op[];

export interface ByPerson {
  readonly by?: Actor;
  readonly also?: AlsoMoved;
}

type DeadLetterPorts = Pick<Ports, "store" | "ids" | "clock">;

export const listDeliveries = (
  { store }: Pick<Ports, "store">,
  filter: { states?: readonly DeliveryState[]; agentId?: AgentId; afterN?: number; limit?: number } = {},
): Promise<readonly Delivery[]> => store.deliveries({ limit: 100, ...filter });

/**
 * Sends an ended delivery once more, after all others of its target (M17). The person asked for the repetition (L12). One
 * without a route becomes `unroutable` again if there is still none.
 */
export async function retryDelivery(ports: DeadLetterPorts, id: DeliveryId, person: ByPerson = {}): Promise<Delivery> {
  const delivery = await existingDelivery(ports, id);
  assertMayRetry(delivery);
  const moved: Delivery = { ...delivery, state: "pending" };
  const to: DeliveryMove = { to: "pending", reason: `retried by ${nameOf(person)}`, toTail: true };
  await move(ports, delivery, "outbox.retry", to, moved, person);
  return moved;
}

/** Sends an ended delivery, or one without a route, with another text: what the person has edited. The rest is as in `retryDelivery`. */
export async function editDelivery(
  ports: DeadLetterPorts,
  id: DeliveryId,
  text: string,
  person: ByPerson = {},
): Promise<Delivery> {
  const delivery = await existingDelivery(ports, id);
  assertMayRetry(delivery);
  const payload = { ...delivery.payload, text };
  const moved: Delivery = { ...delivery, state: "pending", payload };
  const to: DeliveryMove = { to: "pending", reason: `edited by ${nameOf(person)}`, toTail: true, payload };
  await move(ports, delivery, "outbox.edit", to, moved, person);
  return moved;
}

/** Ends a delivery that waits: for its next try, its reader or a route. */
export async function dropDelivery(ports: DeadLetterPorts, id: DeliveryId, person: ByPerson = {}): Promise<Delivery> {
  const delivery = await existingDelivery(ports, id);
  if (delivery.state === "sending" || delivery.endedAt !== undefined) {
    throw new InvalidInputError(`Delivery ${id} is ${delivery.state} and cannot be dropped.`, {
      hint: "You can only drop a delivery that waits.",
    });
  }
  const moved: Delivery = { ...delivery, state: "failed" };
  const to: DeliveryMove = { to: "failed", reason: `dropped by ${nameOf(person)}` };
  await move(ports, delivery, "outbox.drop", to, moved, person);
  return moved;
}

function assertMayRetry({ id, state }: Delivery): void {
  if (state === "waiting-reader") {
    throw new InvalidInputError(`Delivery ${id} waits in a mailbox. Its reader takes it from there.`);
  }
  if (state === "pending" || state === "sending") {
    throw new InvalidInputError(`Delivery ${id} is ${state}. You can send it again after it has ended.`);
  }
}

async function existingDelivery({ store }: DeadLetterPorts, id: DeliveryId): Promise<Delivery> {
  const delivery = await store.delivery(id);
  if (!delivery)
    throw new NotFoundError(`Delivery ${id} does not exist.`, { hint: "`rookery channels outbox` lists them." });
  return delivery;
}

const nameOf = ({ by }: ByPerson): string => by?.person ?? "a person";

async function move(
  ports: DeadLetterPorts,
  delivery: Delivery,
  site: "outbox.retry" | "outbox.edit" | "outbox.drop",
  to: DeliveryMove,
  moved: Delivery,
  { by, also }: ByPerson,
): Promise<void> {
  const { id, agentId } = delivery;
  const change = moveChange(ports, site, delivery, to);
  const audit = by ? [auditOp(by, change.at, { action: site, target: id, agentId })] : [];
  const ops = [...change.ops, ...audit, ...(also?.(moved) ?? [])];
  const result = await commitKnown(ports.store, { ...change, ops });
  if (!result.ok) throw new InvalidInputError(`Delivery ${id} has changed in the meantime: ${result.detail}`);
}
