/**
 * Deliveries on a running node: a person lists them, sends one again, drops one, or reads a mailbox. Also looks after those that
 * no connector sends, from the node's start to its drain.
 */
import type { Settings } from "../../config/settings.ts";
import type { Current } from "../../core/current.ts";
import type { Delivery, DeliveryContext, WaitingState } from "../../core/delivery/delivery.ts";
import { OWNER_MAILBOX } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { DeliveryReceipt } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Posted } from "../../core/store/change.ts";
import { submit } from "../commit/submit.ts";
import type { Emit } from "../engine-event.ts";
import { type ByPerson, dropDelivery, editDelivery, listDeliveries, retryDelivery } from "../outbox/dead-letters.ts";
import { Mailboxes } from "../outbox/mailboxes.ts";
import type { OutboxPorts } from "../outbox/outbox.ts";
import { takeReceipt } from "../outbox/take-receipt.ts";
import { WaitingSweep } from "../outbox/waiting-sweep.ts";
import { OWNER_READS, type People } from "../runtime/people.ts";

type DeliveryPorts = Pick<Ports, "store" | "ids" | "clock" | "log" | "connectors">;

interface DeliveriesHost extends Pick<OutboxPorts, "opsOnDelivered"> {
  readonly emit: Emit;
  readonly people: Pick<People, "routeTo">;
  readonly shared: boolean;
  claimFor(): number | undefined;
  readonly settings: Current<Settings>;
}

const OWNER_KEY = targetKey(OWNER_MAILBOX);

export class Deliveries {
  /** The mailboxes of API users and terminals. */
  readonly mailboxes: Mailboxes;
  readonly #ports: DeliveryPorts;
  readonly #emit: Emit;
  readonly #sweep: WaitingSweep;
  readonly #shared: boolean;
  readonly #host: Pick<DeliveriesHost, "claimFor"> & Required<Pick<OutboxPorts, "posted">>;
  #ownerReads: Promise<void> | undefined;

  constructor(ports: DeliveryPorts, host: DeliveriesHost) {
    const { emit, people, shared, opsOnDelivered, claimFor, settings } = host;
    this.#ports = ports;
    this.#emit = emit;
    this.#shared = shared;
    const posted = (messages: readonly Posted[]): void => {
      for (const one of messages) emit({ type: "posted", posted: one });
    };
    this.#host = { claimFor, posted };
    const common = { ...ports, opsOnDelivered, claimFor, posted };
    this.#sweep = new WaitingSweep({
      ...common,
      settings,
      routeTo: (person) => people.routeTo(person),
      moved: (state, target) => {
        if (state === "waiting-reader") this.mailboxes.arrived(target);
        else emit({ type: "delivery-moved", target });
      },
    });
    this.mailboxes = new Mailboxes({ ...common, opened: (keys) => this.#opened(keys) }, { shared });
  }

  /** Before anything new is said: what waits and has a route now is queued first, so that a person reads it in order (M17). */
  start(): Promise<void> {
    return this.#sweep.sweep();
  }

  /** The configuration was changed: routes may have appeared. */
  reloaded(): void {
    this.#sweep.hint();
  }

  /** A message was accepted, so its person has a route. */
  accepted(): void {
    this.#sweep.accepted();
  }

  polled(): void {
    if (this.#shared) this.#sweep.polled();
  }

  /** A delivery was committed that no connector sends. */
  waits(state: WaitingState, target: DeliveryContext): void {
    this.#sweep.added(state);
    if (state === "waiting-reader") this.mailboxes.arrived(target);
  }

  stop(): Promise<void> {
    return this.#sweep.stop();
  }

  list(filter?: Parameters<typeof listDeliveries>[1]): Promise<readonly Delivery[]> {
    return listDeliveries(this.#ports, filter);
  }

  /** How many deliveries wait for a reader and for a route. */
  counts(): Promise<Readonly<Record<WaitingState, number>>> {
    return this.#ports.store.waitingDeliveries();
  }

  /** Makes an ended delivery pending again (L12). The outbox takes it up at once. */
  async retry(id: DeliveryId, person?: ByPerson): Promise<Delivery> {
    return this.#moved(await retryDelivery(this.#ports, id, person));
  }

  /** Sends an ended delivery, or one without a route, with another text. Durable when it resolves. */
  async edit(id: DeliveryId, text: string, person?: ByPerson): Promise<Delivery> {
    return this.#moved(await editDelivery(this.#ports, id, text, person));
  }

  /** Ends a delivery that waits as failed. The outbox takes up the next delivery to the same target at once (M17). */
  async drop(id: DeliveryId, person?: ByPerson): Promise<Delivery> {
    return this.#moved(await dropDelivery(this.#ports, id, person));
  }

  /** A channel says how a delivery ended. Durable when it resolves. */
  receipt(channel: string, receipt: DeliveryReceipt): Promise<void> {
    const { claimFor, posted } = this.#host;
    const moved = (delivery: Delivery): void => {
      this.#moved(delivery);
      if (delivery.state === "sent") this.#emit({ type: "reached", target: delivery.target });
    };
    return takeReceipt({ ports: this.#ports, channel, claimFor: claimFor(), posted, moved }, receipt);
  }

  #moved(delivery: Delivery): Delivery {
    this.#emit({ type: "delivery-moved", target: delivery.target });
    return delivery;
  }

  /** The owner opens the mailbox of the API: it is a route from now on, and what had none comes with it (M26). */
  async #opened(keys: ReadonlySet<string>): Promise<void> {
    if (!keys.has(OWNER_KEY)) return;
    this.#ownerReads ??= this.#ownerOpens().catch((error) => {
      this.#ownerReads = undefined;
      throw error;
    });
    await this.#ownerReads;
  }

  async #ownerOpens(): Promise<void> {
    const { store } = this.#ports;
    if ((await store.fact(OWNER_READS)) !== undefined) return;
    await submit(this.#ports, "mailbox.open", [{ op: "fact.put", key: OWNER_READS, value: "1" }]);
    await this.#sweep.sweep();
  }
}
