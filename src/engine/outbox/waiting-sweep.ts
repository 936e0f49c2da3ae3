/**
 * Looks after deliveries that no connector sends. One without a route is queued as soon as a route exists (M26), one in a
 * mailbox goes to a connector of its channel that starts on this node, and each of them ends after its time. Every move names the
 * state it leaves, so that of a sweep, a reader and another node one wins (L12).
 */
import type { Settings } from "../../config/settings.ts";
import type { Current } from "../../core/current.ts";
import type { Delivery, DeliveryContext, WaitingState } from "../../core/delivery/delivery.ts";
import { PERSON_CHANNEL, type Route, routeOf } from "../../core/delivery/route.ts";
import { errorText } from "../../core/errors.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, Posted } from "../../core/store/change.ts";
import { claimedFor, commitKnown, postedIn } from "../commit/submit.ts";
import { routesBy } from "./create-deliveries.ts";
import type { OutboxPorts } from "./outbox.ts";
import { questionLane } from "./question-lane.ts";
import { type DeliveryMove, moveChange } from "./send-delivery.ts";

export const NO_ROUTE = "no route";
export const NEVER_READ = "never read";

export interface SweepPorts
  extends Pick<Ports, "clock" | "ids" | "store" | "log" | "connectors">,
    Pick<OutboxPorts, "opsOnDelivered"> {
  readonly settings: Current<Pick<Settings, "outbox" | "mailbox">>;
  /** Where a person can be reached now; undefined if nowhere. */
  routeTo(person: string): Promise<DeliveryContext | undefined>;
  /** The node that claims agents which get a message with a delivery's end. */
  claimFor(): number | undefined;
  posted(posted: readonly Posted[]): void;
  /** Called after a delivery was moved to this target. */
  moved(state: "pending" | WaitingState, target: DeliveryContext): void;
}

const HOUR_MS = 3600_000;
const PAGE_SIZE = 100;
/** How long hints are collected before one sweep serves them all. */
const HINT_MS = 100;
/** How often a node looks for deliveries that another node could not route. */
const SHARED_MS = 2_000;
/** How long a pass that failed waits before the next one. */
const RETRY_MS = 5_000;
/** How often the ends by time are checked while anything waits. */
const ROUND_MS = 10 * 60_000;

export class WaitingSweep {
  readonly #ports: SweepPorts;
  #cancelHint: (() => void) | undefined;
  #cancelRound: (() => void) | undefined;
  #sweeping: Promise<void> | undefined;
  #again = false;
  /** Deliveries that began to wait here since the last pass. */
  #added = 0;
  /** Whether the last pass left deliveries without a route. */
  #unroutable = false;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(ports: SweepPorts) {
    this.#ports = ports;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelHint?.();
    await this.#sweeping;
    // The pass that was active may have set it.
    this.#cancelRound?.();
  }

  /** A message was accepted, so its person has a route. Costs nothing while every delivery has one. */
  accepted(): void {
    if (this.#unroutable || this.#added > 0) this.hint();
  }

  /** Other nodes may have added deliveries that this node can send. */
  polled(): void {
    if (this.#ports.clock.monotonic() - this.#sweptAt >= SHARED_MS) this.hint();
  }

  /** A route may have appeared: the node or a connector started, the configuration changed. */
  hint(): void {
    if (this.#stopped || this.#cancelHint) return;
    this.#cancelHint = this.#ports.clock.after(HINT_MS, () => {
      this.#cancelHint = undefined;
      void this.sweep();
    });
  }

  /** A delivery was added that waits. A mailbox that may be full by now is checked. */
  added(state: WaitingState): void {
    if (this.#stopped) return;
    this.#added += 1;
    this.#cancelRound ??= this.#after(ROUND_MS);
    if (state === "unroutable" || this.#added > this.#ports.settings.current.mailbox.maxWaiting / 2) this.hint();
  }

  /** One pass at a time. A hint during a pass is served by another one. Does not throw. */
  sweep(): Promise<void> {
    this.#again = true;
    this.#sweeping ??= this.#passes().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  async #passes(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      this.#added = 0;
      try {
        await this.#pass();
      } catch (error) {
        this.#ports.log.warn("deliveries that wait could not be checked now", { error: errorText(error) });
        this.#cancelRound?.();
        this.#cancelRound = this.#after(RETRY_MS);
      }
    }
  }

  async #pass(): Promise<void> {
    this.#sweptAt = this.#ports.clock.monotonic();
    this.#unroutable = await this.#routeUnroutable();
    await this.#feedConnectors();
    const unread = await this.#endUnread();
    if (this.#unroutable || unread || this.#added > 0) this.#cancelRound ??= this.#after(ROUND_MS);
  }

  #after(ms: number): () => void {
    return this.#ports.clock.after(ms, () => {
      this.#cancelRound = undefined;
      this.hint();
    });
  }

  /** True if some have no route yet. */
  async #routeUnroutable(): Promise<boolean> {
    const maxAgeMs = this.#ports.settings.current.outbox.maxUnroutableAgeHours * HOUR_MS;
    let left = false;
    const routes = new Map<string, Promise<DeliveryContext | undefined>>();
    const routeTo = (person: string): Promise<DeliveryContext | undefined> => {
      const known = routes.get(person) ?? this.#ports.routeTo(person);
      routes.set(person, known);
      return known;
    };
    // Rows that a pass has queued get a higher number. A pass ends where it began to look.
    for await (const delivery of this.#pages(["unroutable"])) {
      const { channel, to } = delivery.target;
      const target = channel === PERSON_CHANNEL ? await routeTo(to ?? "") : delivery.target;
      const route = await this.#routeNow(delivery, target);
      if (route && route.state !== "unroutable") await this.#queue(delivery, route);
      else if (this.#age(delivery) > maxAgeMs) await this.#fail(delivery, NO_ROUTE);
      else left = true;
    }
    return left;
  }

  /** Where a delivery goes now; undefined if its person cannot be reached. A connector may take it over in any case. */
  async #routeNow(
    { agentId, target: wanted }: Delivery,
    target: DeliveryContext | undefined,
  ): Promise<Route | undefined> {
    const { connectors, store } = this.#ports;
    const takers = [...connectors.values()].some(({ takesOver }) => takesOver !== undefined);
    const profile = takers ? (await store.agent(agentId))?.profile : undefined;
    const routes = routesBy(connectors, profile);
    const other = routes.takenOver?.(wanted);
    return other || target ? routeOf(other ?? target ?? wanted, routes) : undefined;
  }

  /** A connector sends what waits in the mailboxes of its channel: a terminal that was opened again. */
  async #feedConnectors(): Promise<void> {
    for (const [name, connector] of this.#ports.connectors) {
      if (connector.isRemote?.()) continue;
      for (let more = true; more && !this.#stopped; ) {
        const page = await this.#ports.store.mailboxesOf(name, { limit: PAGE_SIZE });
        const moved = await Promise.all(page.map((one) => this.#queue(one, { state: "pending", target: one.target })));
        more = page.length === PAGE_SIZE && moved.some(Boolean);
      }
    }
  }

  /** True if some wait for their reader. */
  async #endUnread(): Promise<boolean> {
    const { maxWaiting, retentionDays } = this.#ports.settings.current.mailbox;
    const retentionMs = retentionDays * 24 * HOUR_MS;
    let left = false;
    for await (const delivery of this.#pages(["waiting-reader"])) {
      left = this.#age(delivery) <= retentionMs;
      if (left) break;
      await this.#fail(delivery, NEVER_READ);
    }
    if (!left) return false;
    for (const { target, count } of await this.#ports.store.fullMailboxes(maxWaiting)) {
      for (let over = count - maxWaiting; over > 0 && !this.#stopped; over -= PAGE_SIZE) {
        const oldest = await this.#ports.store.mailbox(target, { limit: Math.min(over, PAGE_SIZE) });
        await Promise.all(oldest.map((one) => this.#fail(one, `${NEVER_READ}: the mailbox is full`)));
      }
    }
    return true;
  }

  /** Rows in these states that exist when the pass begins, in the store's order, read in bounded pages. */
  async *#pages(states: readonly WaitingState[]): AsyncGenerator<Delivery> {
    const { store } = this.#ports;
    let afterN = 0;
    const seen = new Set<string>();
    while (!this.#stopped) {
      const page = await store.deliveries({ afterN, limit: PAGE_SIZE, states });
      for (const delivery of page) {
        if (seen.has(delivery.id)) return;
        seen.add(delivery.id);
        yield delivery;
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE_SIZE) return;
      afterN = last.n;
    }
  }

  #age({ createdAt }: Delivery): number {
    return this.#ports.clock.now() - createdAt;
  }

  async #queue(delivery: Delivery, route: Route): Promise<boolean> {
    const { state } = route;
    const target =
      state === "pending" && delivery.payload.asks !== undefined ? questionLane(route.target) : route.target;
    const moved = await this.#move(delivery, { to: state, target, toTail: true });
    if (moved) this.#ports.moved(state, target);
    return moved;
  }

  async #fail(delivery: Delivery, reason: string): Promise<void> {
    const also = delivery.payload.slot
      ? ((await this.#ports.opsOnDelivered?.(delivery, { to: "failed", reason })) ?? [])
      : [];
    if (!(await this.#move(delivery, { to: "failed", reason }, also)) && also.length > 0) {
      await this.#move(delivery, { to: "failed", reason });
    }
  }

  /** False if the delivery is no longer in the state that was read: a reader or another node was first. */
  async #move(delivery: Delivery, move: DeliveryMove, also: readonly Op[] = []): Promise<boolean> {
    const { store, claimFor, posted } = this.#ports;
    const change = moveChange(this.#ports, `waiting.${move.to}`, delivery, move, claimedFor(also, claimFor()));
    const result = await commitKnown(store, change);
    if (result.ok && also.length > 0) posted(postedIn(result));
    return result.ok;
  }
}
