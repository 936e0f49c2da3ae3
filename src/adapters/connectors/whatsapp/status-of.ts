/** What a message carries so that its statuses name it: its delivery, and which attempt it was. */
import type { DeliveryId } from "../../../core/ids.ts";
import type { OutgoingDelivery } from "../../../core/ports/connector.ts";

export const callbackOf = ({ id, attempt }: Pick<OutgoingDelivery, "id" | "attempt">): string =>
  attempt === undefined ? id : `${id}#${attempt}`;

export function statusOf(callback: string): { readonly deliveryId: DeliveryId; readonly attempt?: number } {
  const [, id, attempt] = /^(.*)#(\d{1,9})$/su.exec(callback) ?? [];
  return id === undefined
    ? { deliveryId: callback as DeliveryId }
    : { deliveryId: id as DeliveryId, attempt: Number(attempt) };
}
