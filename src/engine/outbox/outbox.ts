/**
 * Sends what is owed. A send is an intent (M16): the delivery is committed as `sending` before the channel is called, so
 * that after a crash it is sent again under the same id, looked up, or listed as unconfirmed, by what the channel can
 * tell (L5, L12). Order per target; a failing head blocks only its own target (M17).
 */

import { type Delivery, type DeliveryContext, type NewDelivery, targetKey } from "../../core/delivery/delivery.ts";
import { errorText } from "../../core/errors.ts";
import type { DeliveryId, Ids } from "../../core/ids.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Connector, SendResult } from "../../core/ports/connector.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Change, CommitResult, Op, OpResult, Posted } from "../../core/store/change.ts";
import type { Store } from "../../core/store/store.ts";
import { claimedFor, commitKnown } from "../commit/submit.ts";
import { backoffMs } from "./backoff.ts";

export interface OutboxPorts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: Store;
  readonly log: Log;
  readonly connectors: ReadonlyMap<string, Connector>;
  /** What else is committed with the end of a delivery that was owed for a trigger's slot. */
  opsOnDelivered?(delivery: Delivery, ended: Pick<Move, "to" | "reason">): Promise<readonly Op[]>;
  /** Told of messages that were committed with a delivery's end. */
  posted?(posted: readonly Posted[]): void;
}

export interface OutboxOptions {
  readonly node: number;
  /** Nobody else sends from this store: what is owed to a target is known here. */
  readonly alone?: boolean;
  /** A delivery older than this fails instead of being tried again. */
  readonly maxAgeMs: number;
  /** How long one send may take before its outcome counts as unknown. */
  readonly sendTimeoutMs: number;
  /** What a channel says is absent may still be on its way to it: believed only when it says so after this time. */
  readonly absentAfterMs: number;
  /** Sends under way at once. */
  readonly concurrency: number;
}

export const DEFAULT_OUTBOX = {
  maxAgeMs: 24 * 3600_000,
  sendTimeoutMs: 60_000,
  absentAfterMs: 5_000,
  concurrency: 64,
} as const;

type Move = Extract<Op, { op: "delivery.move" }>;
/** How one turn at a target ended: its head has left, it must wait, or nothing is owed there. */
type Turn = { readonly next: "left" | "none" } | { readonly next: "wait"; readonly ms: number };

export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #options: OutboxOptions;
  /** The targets something is owed to. What is owed is read from the store, oldest first, at each turn. */
  readonly #targets = new Map<string, Target>();
  readonly #ready: Target[] = [];
  readonly #stop = new AbortController();
  #active = 0;
  #whenIdle: (() => void)[] = [];

  constructor(ports: OutboxPorts, options: OutboxOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  /** Takes up deliveries that were just committed, with what the store said of them. */
  offer(deliveries: readonly NewDelivery[], results: readonly (OpResult | undefined)[] = []): void {
    for (const delivery of deliveries) {
      if (delivery.ended) continue;
      const isNext = results.some((one) => one?.op === "delivery.add" && one.next === delivery.id);
      this.#serveTarget(targetKey(delivery.target), isNext ? delivery : undefined);
    }
  }

  /** Looks at a target now, whatever it waits for: a person has moved a delivery of it by hand. */
  nudge(target: DeliveryContext): void {
    const key = targetKey(target);
    const known = this.#targets.get(key);
    if (known?.cancelTimer) {
      known.cancelTimer();
      known.cancelTimer = undefined;
      this.#makeReady(known);
    } else this.#serveTarget(key);
  }

  /** Takes up everything in the store that has not ended: at the start, and now and then for what another node left. */
  async scan(): Promise<void> {
    let afterN = 0;
    for (;;) {
      const page = await this.#ports.store.deliveries({ afterN, limit: 500 });
      for (const delivery of page) this.#serveTarget(targetKey(delivery.target));
      const last = page.at(-1);
      if (!last || page.length < 500) return;
      afterN = last.n;
    }
  }

  /** How many targets something is owed to. */
  get size(): number {
    return this.#targets.size;
  }

  /** Resolves when nothing is left to send here, or what is left waits for a later time. */
  idle(): Promise<void> {
    if (this.#active === 0 && this.#ready.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Begins no more sends; those under way may finish. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const target of this.#targets.values()) target.cancelTimer?.();
    this.#ready.length = 0;
    if (this.#active > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  #serveTarget(key: string, next?: NewDelivery): void {
    if (this.#stop.signal.aborted) return;
    const known = this.#targets.get(key);
    if (known) {
      known.again = true;
      return;
    }
    const target: Target = { key, again: false, next };
    this.#targets.set(key, target);
    this.#makeReady(target);
  }

  #makeReady(target: Target): void {
    this.#ready.push(target);
    this.#pump();
  }

  #pump(): void {
    while (this.#active < this.#options.concurrency) {
      const target = this.#ready.shift();
      if (!target) break;
      this.#active += 1;
      void this.#turn(target);
    }
  }

  async #turn(target: Target): Promise<void> {
    target.again = false;
    let turn: Turn;
    try {
      turn = await this.#attempt(target);
    } catch (error) {
      this.#ports.log.warn("a delivery could not be handled now", { target: target.key, error: errorText(error) });
      turn = { next: "wait", ms: 1_000 };
    }
    this.#active -= 1;
    const isEmpty = turn.next === "none" || (turn.next === "left" && this.#options.alone && !target.unsure);
    if (isEmpty && !target.again) this.#targets.delete(target.key);
    else if (!this.#stop.signal.aborted) {
      if (turn.next === "wait") this.#wait(target, turn.ms);
      else this.#makeReady(target);
    }
    this.#pump();
    if (this.#active === 0 && this.#ready.length === 0) {
      for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  #wait(target: Target, ms: number): void {
    target.cancelTimer = this.#ports.clock.after(ms, () => {
      target.cancelTimer = undefined;
      this.#makeReady(target);
    });
  }

  /** One turn of a target: reads its oldest delivery and takes it one step further. */
  async #attempt(target: Target): Promise<Turn> {
    const { clock, connectors } = this.#ports;
    const delivery = await this.#head(target);
    if (!delivery) return { next: "none" };
    const known = connectors.get(delivery.target.channel ?? "");
    const connector = known?.isRemote?.() ? undefined : known;
    if (delivery.state === "sending") {
      const onceOnly = connector?.sendingClass !== "idempotent";
      if (await this.#mayBeUnderWay(target, delivery, onceOnly)) return { next: "wait", ms: 2_000 };
      return this.#settleUnknown(target, delivery, connector, "the program stopped while it was being sent");
    }
    const now = clock.now();
    if (now - delivery.createdAt > this.#options.maxAgeMs) {
      const reason = delivery.reason ? `too old; last: ${delivery.reason}` : "too old";
      return this.#end(delivery, { to: "failed", reason });
    }
    const wait = this.#timeToWait(target, delivery, now);
    if (wait > 0) return { next: "wait", ms: wait };
    if (!connector) return { next: "wait", ms: 30_000 };
    const sending = await this.#move(delivery, { to: "sending" });
    if (!sending) return { next: "wait", ms: 50 };
    return this.#finish(target, sending, connector, await this.#send(sending, connector));
  }

  /** What is owed first to a target: as it was committed, where the store said that nothing stands before it. */
  async #head(target: Target): Promise<Delivery | undefined> {
    const { next } = target;
    target.next = undefined;
    if (next) return { ...next, n: 0, state: "pending", attempts: 0, nextAt: next.createdAt };
    target.unsure = true;
    return this.#ports.store.deliveryHead(target.key);
  }

  /** A wait that was sat out here is over, whatever the wall clock says; one from before a restart is never longer than it was. */
  #timeToWait(target: Target, delivery: Delivery, now: number): number {
    if (target.waited === delivery.id) return 0;
    return Math.min(delivery.nextAt - now, 2 * backoffMs(delivery.id, Math.max(1, delivery.attempts)));
  }

  /**
   * Whether another node may be sending it right now. One that has left is not; one whose lease has ended may only be
   * paused, or our clocks may differ, so its send is given the time a send can take, by the clock that never jumps.
   */
  async #mayBeUnderWay(target: Target, { id, attempts, node }: Delivery, onceOnly: boolean): Promise<boolean> {
    if (node === undefined || node === this.#options.node) return false;
    const { clock, store } = this.#ports;
    const sender = (await store.nodes()).find((other) => other.node === node);
    if (!sender || sender.left) return false;
    if (sender.leaseUntil > clock.now()) return true;
    if (!onceOnly) return false;
    const now = clock.monotonic();
    if (target.silent?.id !== id || target.silent.attempts !== attempts) target.silent = { id, attempts, since: now };
    return now - target.silent.since <= this.#options.sendTimeoutMs;
  }

  async #send(delivery: Delivery, connector: Connector): Promise<SendResult> {
    const {
      id,
      target,
      payload: { slot: _, ...payload },
    } = delivery;
    const late: SendResult = { status: "unknown", reason: "timed out" };
    try {
      return await this.#inTime((signal) => connector.send({ id, target, payload }, signal), late);
    } catch (error) {
      return { status: "unknown", reason: errorText(error) };
    }
  }

  /** What a call of the channel gives, or `late` where it takes too long. */
  async #inTime<T>(call: (signal: AbortSignal) => Promise<T>, late: T): Promise<T> {
    const timeout = new AbortController();
    const cancel = this.#ports.clock.after(this.#options.sendTimeoutMs, () => timeout.abort());
    const gaveUp = new Promise<T>((resolve) => {
      timeout.signal.addEventListener("abort", () => resolve(late), { once: true });
    });
    try {
      return await Promise.race([call(timeout.signal), gaveUp]);
    } finally {
      cancel();
    }
  }

  async #finish(target: Target, delivery: Delivery, connector: Connector, result: SendResult): Promise<Turn> {
    switch (result.status) {
      case "sent":
        return this.#end(delivery, { to: "sent", receipt: result.receipt });
      case "refused":
        return this.#end(delivery, { to: "failed", reason: result.reason });
      case "retry":
        target.waited = delivery.id;
        return this.#retry(delivery, result.reason, result.afterMs);
      case "unknown":
        return this.#settleUnknown(target, delivery, connector, result.reason);
      default:
        return this.#settleUnknown(target, delivery, connector, "the channel gave no known answer");
    }
  }

  /** Nobody knows whether the channel has it: by what the channel can tell, send again, ask, or list it (M16). */
  async #settleUnknown(
    target: Target,
    delivery: Delivery,
    connector: Connector | undefined,
    reason: string,
  ): Promise<Turn> {
    const tooOld = this.#ports.clock.now() - delivery.createdAt > this.#options.maxAgeMs;
    if (!connector && !tooOld) return { next: "wait", ms: 30_000 };
    if (connector?.sendingClass === "idempotent") return this.#retry(delivery, reason);
    if (connector?.sendingClass === "reconcilable" && connector.lookup) {
      const { id, payload } = delivery;
      const lookup = async () => connector.lookup?.({ id, target: delivery.target, payload });
      const found = await this.#inTime(lookup, undefined).catch(() => undefined);
      if (found === "arrived") return this.#end(delivery, { to: "sent" });
      const now = this.#ports.clock.monotonic();
      const { times, since } = target.asked?.id === id ? target.asked : { times: 0, since: now };
      const early = since + this.#options.absentAfterMs - now;
      if (found === "absent" && early <= 0) {
        target.asked = undefined;
        return this.#retry(delivery, reason);
      }
      target.asked = { id, times: times + 1, since };
      if (found === "absent") return { next: "wait", ms: early };
      if (!tooOld) return { next: "wait", ms: backoffMs(id, times + 1) };
    }
    return this.#end(delivery, { to: "unconfirmed", reason });
  }

  async #retry(delivery: Delivery, reason: string, afterMs?: number): Promise<Turn> {
    const now = this.#ports.clock.now();
    // However long a channel wants to be left alone, its target is blocked no longer than a delivery may get old (M17).
    const left = Math.max(0, delivery.createdAt + this.#options.maxAgeMs - now) + 1;
    const wait = Math.min(left, Math.max(afterMs ?? 0, backoffMs(delivery.id, delivery.attempts)));
    await this.#move(delivery, { to: "pending", reason, nextAt: now + wait });
    return { next: "wait", ms: wait };
  }

  async #end(delivery: Delivery, move: Pick<Move, "to" | "reason" | "receipt">): Promise<Turn> {
    // Not moved: somebody else did, or the store has no room. Either way the next turn reads where it stands.
    const also = delivery.payload.slot ? await this.#opsOnDelivered(delivery, move) : [];
    return (await this.#move(delivery, move, also)) ? { next: "left" } : { next: "wait", ms: 50 };
  }

  /** Whatever others have to say of it: a delivery does not wait for that. */
  async #opsOnDelivered(delivery: Delivery, move: Pick<Move, "to" | "reason">): Promise<readonly Op[]> {
    try {
      return (await this.#ports.opsOnDelivered?.(delivery, move)) ?? [];
    } catch (error) {
      this.#ports.log.warn("nobody is told how a delivery ended", { id: delivery.id, error: errorText(error) });
      return [];
    }
  }

  /** Moves a delivery on from where this turn found it; undefined where that is no longer true. */
  async #move(
    delivery: Delivery,
    move: Partial<Move> & Pick<Move, "to">,
    also: readonly Op[] = [],
  ): Promise<Delivery | undefined> {
    const { ids, clock, store } = this.#ports;
    const { node } = this.#options;
    const op: Move = {
      op: "delivery.move",
      id: delivery.id,
      from: delivery.state,
      attempts: delivery.attempts,
      ...(move.to === "sending" ? { node } : {}),
      ...move,
    };
    const change: Change = {
      id: ids.change(),
      site: `outbox.${move.to}`,
      at: clock.now(),
      ops: [op, ...claimedFor(also, node)],
    };
    const result = await this.#commit(store, change);
    // Whom the others named may be gone by now: the end itself must not wait for that.
    if (!result.ok) return also.length > 0 ? this.#move(delivery, move) : undefined;
    if (also.length > 0)
      this.#ports.posted?.(result.results.flatMap((one) => (one?.op === "message.post" ? [one] : [])));
    return { ...delivery, state: move.to, attempts: move.to === "sending" ? delivery.attempts + 1 : delivery.attempts };
  }

  /** Commits until it is known whether the change was applied: what was sent must not be forgotten for a full disk. */
  async #commit(store: Store, change: Change): Promise<CommitResult> {
    for (let tries = 1; ; tries++) {
      try {
        return await commitKnown(store, change);
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        this.#ports.log.warn("a commit of the outbox failed", { site: change.site, error: errorText(error) });
        await new Promise<void>((resolve) => this.#ports.clock.after(Math.min(100 * 2 ** tries, 10_000), resolve));
        const outcome = await store.outcome(change.id).catch(() => undefined);
        if (outcome) return outcome;
      }
    }
  }
}

interface Target {
  readonly key: string;
  /** Something more was owed while its turn was under way. */
  again: boolean;
  /** All that was owed to it when it was taken up. */
  next?: NewDelivery;
  /** More may be owed to it than was offered here. */
  unsure?: boolean;
  /** A send of another node that does not answer, and since when. */
  silent?: { readonly id: DeliveryId; readonly attempts: number; readonly since: number };
  /** The delivery whose wait is being, or was, sat out here. */
  waited?: DeliveryId;
  /** The delivery the channel was asked about, how often, and since when. */
  asked?: { readonly id: DeliveryId; readonly times: number; readonly since: number };
  cancelTimer?: () => void;
}
