/**
 * Reads mailboxes: deliveries that wait until their person takes them (M27). Readers page through a mailbox, or follow it, and
 * acknowledge ids in any order. A delivery that was shown and not acknowledged is shown again: its id is the reader's key (L12).
 */
import type { Delivery, DeliveryContext } from "../../core/delivery/delivery.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { errorText, InvalidInputError } from "../../core/errors.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import { claimedFor, commitKnown, postedIn } from "../commit/submit.ts";
import { countSend } from "./question-lane.ts";
import { moveChange } from "./send-delivery.ts";
import type { SweepPorts } from "./waiting-sweep.ts";

type MailboxPorts = Pick<Ports, "clock" | "ids" | "store" | "log"> &
  Pick<SweepPorts, "opsOnDelivered" | "claimFor" | "posted"> & {
    /** Called before a mailbox is read. */
    opened?(keys: ReadonlySet<string>): Promise<void>;
  };

export interface MailboxPage {
  /** In the store's order. */
  readonly items: readonly Delivery[];
  /** The `after` of the next page; null on the last one. */
  readonly next: number | null;
}

/** The addresses of one person, for instance `OWNER_MAILBOXES` or `[apiMailbox("ann")]`. */
export type Mailbox = readonly DeliveryContext[];

export const MAX_PAGE = 500;
/** The most ids that one call acknowledges. */
export const MAX_ACKNOWLEDGED = 1_000;
/** How often a follower looks for deliveries that another node has added. */
const POLL_MS = 2_000;
/** The same if no other node works on the store: nothing is added without a hint. */
const ALONE_POLL_MS = 60_000;

interface Follower {
  readonly keys: ReadonlySet<string>;
  look(): void;
}

export class Mailboxes {
  readonly #ports: MailboxPorts;
  readonly #pollMs: number;
  readonly #followers = new Set<Follower>();

  constructor(ports: MailboxPorts, { shared }: { readonly shared: boolean }) {
    this.#ports = ports;
    this.#pollMs = shared ? POLL_MS : ALONE_POLL_MS;
  }

  /**
   * What waits in a mailbox. `after` is for one pass: what arrives late may get a smaller number, so the next pass begins at the
   * start again and finds everything that is not acknowledged.
   */
  async page(
    mailbox: Mailbox,
    { after = 0, limit = 100 }: { after?: number; limit?: number } = {},
  ): Promise<MailboxPage> {
    const most = Math.min(MAX_PAGE, Math.max(1, Math.floor(limit)));
    await this.#ports.opened?.(keysOf(mailbox));
    const pages = await Promise.all(
      mailbox.map((one) => this.#ports.store.mailbox(targetKey(one), { afterN: after, limit: most })),
    );
    const items = pages
      .flat()
      .sort((a, b) => a.n - b.n)
      .slice(0, most);
    return { items, next: items.length === most ? (items.at(-1)?.n ?? null) : null };
  }

  /**
   * Ends deliveries of this mailbox as `sent`. Durable when it resolves. Returns the ids that are acknowledged, now or before;
   * an id of another mailbox, or one that ended otherwise, is left out.
   */
  async acknowledge(mailbox: Mailbox, ids: readonly DeliveryId[]): Promise<readonly DeliveryId[]> {
    const asked = [...new Set(ids)];
    if (asked.length > MAX_ACKNOWLEDGED) {
      throw new InvalidInputError(`At most ${MAX_ACKNOWLEDGED} deliveries can be acknowledged at once.`, {
        hint: "Acknowledge them in several calls.",
      });
    }
    const keys = keysOf(mailbox);
    const done = await Promise.all(asked.map((id) => this.#acknowledge(keys, id)));
    return asked.filter((_, index) => done[index]);
  }

  async #acknowledge(keys: ReadonlySet<string>, id: DeliveryId): Promise<boolean> {
    const { store, opsOnDelivered, claimFor, posted } = this.#ports;
    for (;;) {
      const delivery = await store.delivery(id);
      if (!delivery || !keys.has(targetKey(delivery.target))) return false;
      if (delivery.state !== "waiting-reader") return delivery.state === "sent";
      const slot = delivery.payload.slot ? ((await opsOnDelivered?.(delivery, { to: "sent" })) ?? []) : [];
      const more = [...slot, ...countSend(delivery)];
      for (const also of more.length > 0 ? [claimedFor(more, claimFor()), []] : [[]]) {
        const change = moveChange(this.#ports, "mailbox.read", delivery, { to: "sent" }, also);
        const result = await commitKnown(store, change);
        if (!result.ok) continue;
        if (also.length > 0) posted(postedIn(result));
        return true;
      }
      // Another reader, or the end of its time, was first. Reads again what it became.
    }
  }

  /**
   * Calls back with every delivery that waits in a mailbox, once each, and with those that arrive: also those of other nodes,
   * and after a restart again. Returns how to stop. `shown` must not throw.
   */
  follow(mailbox: Mailbox, shown: (delivery: Delivery) => void): () => void {
    const { clock, log } = this.#ports;
    const seen = new Set<DeliveryId>();
    let stopped = false;
    let cancel = (): void => {};
    let reading = false;
    let again = false;
    const read = async (): Promise<void> => {
      const present = new Set<DeliveryId>();
      for (let after: number | null = 0; after !== null && !stopped; ) {
        const page: MailboxPage = await this.page(mailbox, { after, limit: MAX_PAGE });
        for (const delivery of page.items) {
          present.add(delivery.id);
          if (seen.has(delivery.id) || stopped) continue;
          seen.add(delivery.id);
          shown(delivery);
        }
        after = page.next;
      }
      // What has left the mailbox is forgotten, so that the set stays as small as the mailbox.
      for (const id of seen) if (!present.has(id)) seen.delete(id);
    };
    const look = async (): Promise<void> => {
      again = true;
      if (reading) return;
      reading = true;
      cancel();
      while (again && !stopped) {
        again = false;
        await read().catch((error) => log.warn("a mailbox could not be read now", { error: errorText(error) }));
      }
      reading = false;
      if (!stopped) cancel = clock.after(this.#pollMs, () => void look());
    };
    const follower: Follower = { keys: keysOf(mailbox), look: () => void look() };
    this.#followers.add(follower);
    follower.look();
    return () => {
      stopped = true;
      cancel();
      this.#followers.delete(follower);
    };
  }

  /** A delivery has reached this mailbox: a hint for those who follow it. */
  arrived(target: DeliveryContext): void {
    const key = targetKey(target);
    for (const follower of this.#followers) if (follower.keys.has(key)) follower.look();
  }
}

const keysOf = (mailbox: Mailbox): ReadonlySet<string> => new Set(mailbox.map(targetKey));
