/**
 * Sends deliveries. A send is an intent (M16): the delivery is committed as `sending` before the channel is called. After a
 * crash it is sent again under the same id, looked up, or listed as unconfirmed (L5, L12).
 * Deliveries to one target are sent in order (M17).
 */

import type { Settings } from "../../config/settings.ts";
import type { Current } from "../../core/current.ts";
import type { Delivery, DeliveryContext, NewDelivery, WaitingState } from "../../core/delivery/delivery.ts";
import { SENDABLE_STATES } from "../../core/delivery/delivery-states.ts";
import { routeOf } from "../../core/delivery/route.ts";
import { targetKey } from "../../core/delivery/target-key.ts";
import { errorText } from "../../core/errors.ts";
import type { DeliveryId } from "../../core/ids.ts";
import type { Connector, SendResult } from "../../core/ports/connector.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op, OpResult, Posted } from "../../core/store/change.ts";
import { claimedFor, postedIn, submit } from "../commit/submit.ts";
import { askForNotice, owedNotice } from "./around-reply.ts";
import { backoffMs } from "./backoff.ts";
import { mayBeSentByOther } from "./other-sender.ts";
import {
  countSend,
  isOpen,
  MAX_SENDS,
  putShown,
  questionLane,
  questionTurn,
  readShown,
  sendsOf,
  withCount,
  withoutLane,
} from "./question-lane.ts";
import { commitUntilKnown, type DeliveryMove, lookUp, moveChange, send } from "./send-delivery.ts";
import { type LookupAnswer, NO_CHANNEL_WAIT_MS, settleUnknown } from "./settle-unknown.ts";
import { notDeliveredOp } from "./take-receipt.ts";
import { type Target, TargetQueue, type Turn } from "./target-queue.ts";

export interface OutboxPorts extends Pick<Ports, "clock" | "ids" | "store" | "log" | "connectors"> {
  /** Ops to commit with the end of a delivery that belongs to a trigger's slot. */
  opsOnDelivered?(delivery: Delivery, ended: Pick<DeliveryMove, "to" | "reason">): Promise<readonly Op[]>;
  /** Called with the messages that were committed with a delivery's end. */
  posted?(posted: readonly Posted[]): void;
  /** How long a delivery is held back now. Absent: none is. */
  heldMs?(delivery: Delivery): Promise<number>;
  /** Called after a question has arrived, or may have. It may be withdrawn by then. */
  shownLate?(): void;
  /** Called with the target of a delivery that waits now for its reader or for a route. */
  waiting?(state: WaitingState, target: DeliveryContext): void;
  readonly settings: Current<Pick<Settings, "outbox" | "commands">>;
}

interface Sender {
  readonly node: number;
  /** No other node sends from this store. */
  readonly alone?: boolean;
}

/** A channel's "absent" counts only after this time: before it, the delivery may still be on its way. */
const ABSENT_AFTER_MS = 5_000;
/** Sends under way at once. */
const MAX_CONCURRENT_SENDS = 64;
const HOUR_MS = 3600_000;

/** How many deliveries one read of a scan returns. */
const PAGE_SIZE = 500;
/** How long a turn waits after an unexpected error. */
const ERROR_WAIT_MS = 1_000;
/** How long a turn waits after a refused move: another turn or node has moved the delivery. */
const REFUSED_WAIT_MS = 50;
/** How long a delivery stays due for a connector that only another node may have. */
const OTHER_CONNECTOR_MS = 60_000;
/** How long a question waits for the answers of its chat, and for the question that is shown there. */
const QUESTION_WAIT_MS = { answers: 1_000, shown: 60_000 };
/** How long a question that is sent again waits for the answer to what its person wrote. */
const AFTER_ANSWER_MS = 10_000;
/** How often to check whether another node's send has ended. */
const OTHER_SENDER_WAIT_MS = 2_000;
const CANNOT_NOTICE = "cannot say now that an answer is unconfirmed; the next message or delivery there tries again";
/** Why the outcome of a send is unknown that no turn of this process began. */
const UNKNOWN_SENDER = { reason: "the process stopped while it was sending" };

export class Outbox {
  readonly #ports: OutboxPorts;
  readonly #sender: Sender;
  readonly #queue: TargetQueue;
  readonly #stop = new AbortController();
  /** Targets whose first delivery is held back. */
  readonly #held = new Set<string>();
  /** Targets whose connector is not on this node. It may come here before their wait ends. */
  readonly #elsewhere = new Set<string>();
  /** Chats in which a question was asked. */
  readonly #asked = new Set<string>();

  constructor(ports: OutboxPorts, sender: Sender) {
    this.#ports = ports;
    this.#sender = sender;
    this.#queue = new TargetQueue(ports.clock, MAX_CONCURRENT_SENDS, (target) => this.#takeTurn(target));
  }

  /** Sends deliveries that were just committed. `results`: the store's results of that commit. */
  offer(deliveries: readonly NewDelivery[], results: readonly (OpResult | undefined)[] = []): void {
    for (const delivery of deliveries) {
      if (delivery.ended) continue;
      if (delivery.waits) {
        this.#ports.waiting?.(delivery.waits.state, delivery.target);
        continue;
      }
      const isFirst = results.some((one) => one?.op === "delivery.add" && one.next === delivery.id);
      const key = targetKey(delivery.target);
      const { lane } = delivery.target;
      if (lane) this.#asked.add(targetKey(withoutLane(delivery.target)));
      // It may be an answer: its person is awake.
      // A question may wait for another one that its person has left behind.
      if (this.#held.delete(key) || this.#elsewhere.delete(key) || lane) this.#queue.interruptWait(key);
      else this.#queue.add(key, isFirst ? delivery : undefined);
    }
  }

  /** Ends a target's wait: a person has moved one of its deliveries. */
  nudge(target: DeliveryContext): void {
    this.#queue.interruptWait(targetKey(target));
  }

  /** A target works: a message came from there, or its channel says later that something arrived. It gets the notice it is owed (M46). */
  async reached(target: DeliveryContext): Promise<void> {
    const asking = await this.#askForNotice(target);
    if (asking.length === 0 || this.#stop.signal.aborted) return;
    try {
      const result = await submit(this.#ports, "outbox.notice", asking, { claimFor: this.#sender.node });
      if (result.ok) this.#ports.posted?.(postedIn(result));
    } catch (error) {
      this.#ports.log.warn(CANNOT_NOTICE, { error: errorText(error) });
    }
  }

  /** Adds every target with open deliveries in the store: at the start, and regularly for those of other nodes. */
  async scan(): Promise<void> {
    const open = await this.#ports.store.approvals({ states: ["pending"], limit: PAGE_SIZE });
    for (const { chat } of open) if (chat) this.#asked.add(targetKey(chat));
    let afterN = 0;
    for (;;) {
      const page = await this.#ports.store.deliveries({ afterN, limit: PAGE_SIZE, states: SENDABLE_STATES });
      for (const { target } of page) {
        const key = targetKey(target);
        if (this.#connectorHere(target) && this.#elsewhere.delete(key)) this.#queue.interruptWait(key);
        else this.#queue.add(key);
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE_SIZE) return;
      afterN = last.n;
    }
  }

  /** How many targets have deliveries to send. */
  get size(): number {
    return this.#queue.size;
  }

  /** Resolves when nothing is left to send now. Deliveries may still wait for a later time. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Begins no more sends, and resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#queue.stop();
  }

  async #takeTurn(target: Target): Promise<Turn> {
    try {
      return await this.#advance(target);
    } catch (error) {
      this.#ports.log.warn("cannot send to a target now, trying again", {
        target: target.key,
        error: errorText(error),
      });
      return { next: "wait", ms: ERROR_WAIT_MS };
    }
  }

  /** Takes the oldest delivery of a target one step further. */
  async #advance(target: Target): Promise<Turn> {
    const delivery = await this.#firstDelivery(target);
    this.#elsewhere.delete(target.key);
    if (!delivery) return { next: "nothing" };
    const known = this.#ports.connectors.get(delivery.target.channel ?? "");
    const connector = this.#connectorHere(delivery.target);
    if (delivery.state === "sending") {
      const idempotent = connector?.sendingClass === "idempotent";
      const own = { node: this.#sender.node, sendTimeoutMs: this.#sendTimeoutMs() };
      if (await mayBeSentByOther(this.#ports, own, target, delivery, idempotent)) {
        return { next: "wait", ms: OTHER_SENDER_WAIT_MS };
      }
      const { reason } = target.unknown?.id === delivery.id ? target.unknown : UNKNOWN_SENDER;
      return this.#settle(target, delivery, connector, reason);
    }
    if (!known && this.#noNodeSends(delivery)) return this.#unroute(delivery);
    if (this.#isTooOld(delivery)) {
      const reason = delivery.reason ? `too old; last: ${delivery.reason}` : "too old";
      return this.#end(target, delivery, { to: "failed", reason });
    }
    const wait = this.#retryDelay(target, delivery);
    if (wait > 0) return { next: "wait", ms: wait };
    if (!connector) {
      this.#elsewhere.add(target.key);
      return { next: "wait", ms: NO_CHANNEL_WAIT_MS, unlessAdded: true };
    }
    const turn = await questionTurn(this.#ports.store, delivery);
    if (turn === "settled") {
      const reason = "the question is settled";
      if (delivery.attempts === 0) return this.#end(target, delivery, { to: "suppressed", reason });
      // An earlier attempt may have arrived. Where a repetition is known as one, the send tells.
      if (connector.sendingClass === "ambiguous") return this.#end(target, delivery, { to: "unconfirmed", reason });
    } else if (turn !== "send") return { next: "wait", ms: QUESTION_WAIT_MS[turn], unlessAdded: true };
    const held = (await this.#ports.heldMs?.(delivery)) ?? 0;
    if (held > 0 && !(await this.#goesWithLater(target, delivery))) {
      this.#held.add(target.key);
      return { next: "wait", ms: held, unlessAdded: true };
    }
    this.#held.delete(target.key);
    const turnAfter = connector.admit?.(withoutLane(delivery.target)) ?? 0;
    // The next turn reads the store: others may have been added for this target by then.
    if (turnAfter > 0) return { next: "wait", ms: turnAfter };
    const sending = await this.#move(delivery, { to: "sending", node: this.#sender.node });
    if (!sending) return { next: "wait", ms: REFUSED_WAIT_MS };
    const { maxTextLength } = connector.capabilities;
    const payload = delivery.payload.asks
      ? await withCount(this.#ports.store, delivery, maxTextLength)
      : delivery.payload;
    const result = await send(this.#ports.clock, connector, { ...sending, payload }, this.#sendTimeoutMs());
    return this.#finish(target, sending, connector, result);
  }

  #connectorHere(target: DeliveryContext): Connector | undefined {
    const known = this.#ports.connectors.get(target.channel ?? "");
    return known?.isRemote?.(target) ? undefined : known;
  }

  /** Another node may have the connector. Then it tries at `nextAt`, and this node leaves it that time. */
  #noNodeSends({ nextAt }: Delivery): boolean {
    return this.#sender.alone === true || this.#ports.clock.now() - nextAt > OTHER_CONNECTOR_MS;
  }

  /** No connector sends to this target: it waits for a reader, or for a route (M26, M27). */
  async #unroute(delivery: Delivery): Promise<Turn> {
    const { state, target, reason } = { reason: undefined, ...routeOf(delivery.target, { connected: () => false }) };
    if (state === "pending") return { next: "nothing" };
    const more = delivery.payload.slot ? await this.#opsOnDelivered(delivery, { to: state, reason }) : [];
    // A mailbox counts the age of a delivery from the moment it got there; a route that is missing does not.
    const into = state === "waiting-reader" ? { toTail: true, target } : {};
    if (!(await this.#move(delivery, { to: state, reason, ...into }, more)))
      return { next: "wait", ms: REFUSED_WAIT_MS };
    this.#ports.waiting?.(state, target);
    return { next: "turn" };
  }

  async #firstDelivery(target: Target): Promise<Delivery | undefined> {
    const { first } = target;
    target.first = undefined;
    if (first) return { ...first, n: 0, state: "pending", attempts: 0, nextAt: first.createdAt };
    target.isRead = true;
    return this.#ports.store.deliveryHead(target.key);
  }

  /** A held delivery delays nothing behind it that is not held, such as an answer: both go, in order (M17). */
  async #goesWithLater({ key }: Target, { id, n }: Delivery): Promise<boolean> {
    for (let afterN = n; ; ) {
      const page = await this.#ports.store.deliveries({ afterN, limit: PAGE_SIZE, states: SENDABLE_STATES });
      for (const one of page) {
        if (one.id !== id && targetKey(one.target) === key && !((await this.#ports.heldMs?.(one)) ?? 0)) return true;
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE_SIZE) return false;
      afterN = last.n;
    }
  }

  /**
   * A delay that has passed in this process is over, even if the wall clock was set back. One from before a restart is looked at
   * again soon, in case the wall clock has moved, and is over here after the longest time it can have been.
   */
  #retryDelay(target: Target, { id, createdAt, nextAt, attempts }: Delivery): number {
    const left = nextAt - this.#ports.clock.now();
    if (left <= 0 || attempts === 0 || target.waited === id) return 0;
    const now = this.#ports.clock.monotonic();
    const { since } = target.delayed?.id === id ? target.delayed : { since: now };
    target.delayed = { id, since };
    const soon = 2 * backoffMs(id, attempts, this.#ports.settings.current.outbox);
    const longest = Math.max(soon, nextAt - createdAt);
    return Math.min(left, soon, longest - (now - since));
  }

  async #finish(target: Target, delivery: Delivery, connector: Connector, result: SendResult): Promise<Turn> {
    switch (result.status) {
      case "sent":
        return this.#end(target, delivery, { to: "sent", receipt: result.receipt });
      case "refused":
        return this.#end(
          target,
          delivery,
          { to: "failed", reason: result.reason },
          result.tell ? [notDeliveredOp(delivery, result.reason, this.#ports.clock.now())] : [],
        );
      case "retry":
        target.waited = delivery.id;
        return this.#retry(delivery, result.reason, result.afterMs);
      case "unknown":
        return this.#settle(target, delivery, connector, result.reason);
      default:
        return this.#settle(target, delivery, connector, "the channel gave no valid answer");
    }
  }

  /** Outcome unknown: retry if idempotent, look up if reconcilable, otherwise mark unconfirmed (M16). */
  async #settle(target: Target, delivery: Delivery, connector: Connector | undefined, reason: string): Promise<Turn> {
    target.unknown = { id: delivery.id, reason };
    const { asks } = delivery.payload;
    const unknown = {
      id: delivery.id,
      tooOld: this.#isTooOld(delivery),
      repeats: asks !== undefined && (await sendsOf(this.#ports.store, asks)) + 1 < MAX_SENDS,
      channel: connector && { sendingClass: connector.sendingClass, canLookUp: connector.lookup !== undefined },
    };
    let decision = settleUnknown(unknown);
    const isLookedUp = decision.do === "look-up";
    if (isLookedUp) decision = settleUnknown(unknown, await this.#lookUp(target, delivery, connector));
    switch (decision.do) {
      case "retry":
        target.lookups = undefined;
        return this.#retry(delivery, reason, 0, isLookedUp ? [] : countSend(delivery));
      case "wait":
        return { next: "wait", ms: decision.ms };
      case "mark-sent":
        return this.#end(target, delivery, { to: "sent" });
      default:
        return this.#end(target, delivery, { to: "unconfirmed", reason });
    }
  }

  async #lookUp(target: Target, delivery: Delivery, connector: Connector | undefined): Promise<LookupAnswer> {
    const { clock } = this.#ports;
    const found = connector && (await lookUp(clock, connector, delivery, this.#sendTimeoutMs()));
    const now = clock.monotonic();
    const { times, since } = target.lookups?.id === delivery.id ? target.lookups : { times: 0, since: now };
    target.lookups = { id: delivery.id, times: times + 1, since };
    return { found, times, forMs: now - since, absentAfterMs: ABSENT_AFTER_MS };
  }

  async #retry(delivery: Delivery, reason: string, afterMs = 0, also: readonly Op[] = []): Promise<Turn> {
    const now = this.#ports.clock.now();
    const { outbox } = this.#ports.settings.current;
    // A channel may ask for any delay. Its target is blocked until the delivery is too old, no longer (M17).
    const untilTooOld = Math.max(0, delivery.createdAt + this.#maxAgeMs() - now) + 1;
    const wait = Math.min(untilTooOld, Math.max(afterMs, backoffMs(delivery.id, delivery.attempts, outbox)));
    await this.#move(delivery, { to: "pending", reason, nextAt: now + wait }, also);
    if (also.length > 0) this.#ports.shownLate?.();
    return { next: "wait", ms: wait };
  }

  async #end(
    target: Target,
    delivery: Delivery,
    move: Pick<DeliveryMove, "to" | "reason" | "receipt">,
    more: readonly Op[] = [],
  ): Promise<Turn> {
    const also = [
      ...more,
      ...(delivery.payload.slot ? await this.#opsOnDelivered(delivery, move) : []),
      ...(move.to === "sent" ? await this.#askForNotice(delivery.target) : []),
      ...(await this.#shownBy(delivery, move.to)),
    ];
    if (!(await this.#move(delivery, move, also))) return { next: "wait", ms: REFUSED_WAIT_MS };
    if (delivery.payload.asks !== undefined) this.#ports.shownLate?.();
    // Nothing else can wait for this target if all its deliveries came from this process and this was the only one.
    return { next: this.#sender.alone && !target.isRead ? "nothing" : "turn" };
  }

  /** An error does not hold the delivery up. */
  async #askForNotice(target: DeliveryContext): Promise<readonly Op[]> {
    try {
      const owed = await owedNotice(this.#ports, target);
      return owed ? [askForNotice(owed, this.#ports.clock.now())] : [];
    } catch (error) {
      this.#ports.log.warn(CANNOT_NOTICE, { error: errorText(error) });
      return [];
    }
  }

  /** Remembers which message shows a question in its chat. */
  async #shownBy(delivery: Delivery, to: DeliveryMove["to"]): Promise<readonly Op[]> {
    const { id, target, payload } = delivery;
    const { asks } = payload;
    if (asks === undefined || (to !== "sent" && to !== "unconfirmed")) return [];
    const { shown } = await readShown(this.#ports.store, target);
    this.#asked.add(targetKey(withoutLane(target)));
    return [
      ...countSend(delivery),
      putShown(target, {
        approval: asks,
        delivery: id,
        state: to,
        again: shown?.delivery === id ? shown.again : undefined,
      }),
    ];
  }

  /** A person wrote in a chat: a question there that may not have arrived is sent once more, and the next one may follow. */
  async written(chat: DeliveryContext): Promise<void> {
    const { store } = this.#ports;
    if (this.#sender.alone && !this.#asked.has(targetKey(chat))) return;
    const { text, shown } = await readShown(store, chat);
    if (!shown || shown.wrote || !(await isOpen(store, shown.approval))) return;
    const delivery =
      shown.state === "unconfirmed" && !shown.again ? await store.delivery(shown.delivery as DeliveryId) : undefined;
    const put = putShown(chat, { ...shown, ...(delivery ? { again: true } : { wrote: true }) }, text);
    if (delivery?.state === "unconfirmed") {
      // The answer to what the person wrote comes first.
      const nextAt = this.#ports.clock.now() + AFTER_ANSWER_MS;
      await this.#move(delivery, { to: "pending", reason: "its person wrote", toTail: true, nextAt }, [put]);
      this.nudge(questionLane(chat));
    } else await submit(this.#ports, "outbox.written", [put]);
  }

  /** An error of the hook does not hold the delivery up. */
  async #opsOnDelivered(delivery: Delivery, move: Pick<DeliveryMove, "to" | "reason">): Promise<readonly Op[]> {
    try {
      return (await this.#ports.opsOnDelivered?.(delivery, move)) ?? [];
    } catch (error) {
      this.#ports.log.warn("the outcome of a delivery could not be reported to its trigger", {
        id: delivery.id,
        error: errorText(error),
      });
      return [];
    }
  }

  /** Undefined if the delivery is no longer in the state this turn has read. */
  async #move(delivery: Delivery, move: DeliveryMove, also: readonly Op[] = []): Promise<Delivery | undefined> {
    const { node } = this.#sender;
    const change = moveChange(this.#ports, `outbox.${move.to}`, delivery, move, claimedFor(also, node));
    const result = await commitUntilKnown(this.#ports, change, this.#stop.signal);
    // The further ops may name an agent that was removed since. The delivery's end does not depend on them.
    if (!result.ok) return also.length > 0 ? this.#move(delivery, move) : undefined;
    if (also.length > 0) this.#ports.posted?.(postedIn(result));
    const attempts = move.to === "sending" ? delivery.attempts + 1 : delivery.attempts;
    return { ...delivery, state: move.to, attempts };
  }

  /** A delivery older than this fails instead of being retried. */
  #maxAgeMs(): number {
    return this.#ports.settings.current.outbox.maxAgeHours * HOUR_MS;
  }

  /** How long one send may take before its outcome counts as unknown. */
  #sendTimeoutMs(): number {
    return this.#ports.settings.current.outbox.sendTimeoutSeconds * 1000;
  }

  #isTooOld({ createdAt }: Delivery): boolean {
    return this.#ports.clock.now() - createdAt > this.#maxAgeMs();
  }
}
