/** What a person can do with deliveries on a running node: list them, send one again, drop one. */
import type { Delivery } from "../../core/delivery/delivery.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Emit } from "../engine-event.ts";
import { dropDelivery, listDeliveries, retryDelivery } from "../outbox/dead-letters.ts";

export class Deliveries {
  readonly #ports: Pick<Ports, "store" | "ids" | "clock">;
  readonly #emit: Emit;

  constructor(ports: Pick<Ports, "store" | "ids" | "clock">, emit: Emit) {
    this.#ports = ports;
    this.#emit = emit;
  }

  list(filter?: Parameters<typeof listDeliveries>[1]): Promise<readonly Delivery[]> {
    return listDeliveries(this.#ports, filter);
  }

  /** Makes an ended delivery pending again (L12). The outbox takes it up at once. */
  async retry(id: DeliveryId): Promise<Delivery> {
    return this.#moved(await retryDelivery(this.#ports, id));
  }

  /** Ends a pending delivery as failed. The outbox takes up the next delivery to the same target at once (M17). */
  async drop(id: DeliveryId): Promise<Delivery> {
    return this.#moved(await dropDelivery(this.#ports, id));
  }

  #moved(delivery: Delivery): Delivery {
    this.#emit({ type: "delivery-moved", target: delivery.target });
    return delivery;
  }
}
