/**
 * A target gets one notice for all unconfirmed answers before it, alone or as the first sentence of an answer (M46). A second notice
 * needs another unconfirmed answer in between; a notice needs none. Where nothing but the channel is at fault, a confirmed delivery
 * after an unconfirmed answer is followed by the notice.
 */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import { broken, UNCONFIRMED_NOTICE as NOTICE, push, textOf, type View, type Violation } from "./audit-view.ts";

export function* notices({ listed, channels, scenario, edits }: View): Iterable<Violation> {
  // A delivery that is sent in another way or edited moves to the end: its place no longer says what was before it.
  const moves = channels.some(({ receipts }) => receipts) || edits.length > 0;
  if (moves) return;
  const byTarget = new Map<string, Delivery[]>();
  for (const delivery of listed.flatMap(({ deliveries }) => deliveries)) {
    const { channel, to, threadId = "" } = delivery.target;
    push(byTarget, `${channel}/${to}/${threadId}`, delivery);
  }
  for (const [target, unordered] of byTarget) {
    const deliveries = unordered.toSorted((a, b) => a.n - b.n);
    yield* oneForEach(target, deliveries);
    if (scenario.needs.includes("notices")) yield* everyOne(target, deliveries);
  }
}

function* oneForEach(target: string, deliveries: readonly Delivery[]): Iterable<Violation> {
  let unconfirmed = 0;
  for (const delivery of deliveries) {
    if (hasNotice(delivery)) {
      if (unconfirmed === 0) yield broken("M46", `${target}: ${delivery.id} is a notice, but nothing is unconfirmed`);
      unconfirmed = 0;
    }
    if (delivery.state === "unconfirmed" && textOf(delivery) !== NOTICE) unconfirmed += 1;
  }
}

function* everyOne(target: string, deliveries: readonly Delivery[]): Iterable<Violation> {
  const last = deliveries.findLastIndex((one) => one.state === "unconfirmed" && textOf(one) !== NOTICE);
  const later = last === -1 ? [] : deliveries.slice(last + 1);
  if (later.some(({ state }) => state === "sent") && !later.some(hasNotice))
    yield broken("M46", `${target}: ${deliveries[last]?.id} is unconfirmed, and nobody was told`);
}

const hasNotice = (delivery: Delivery): boolean => textOf(delivery).startsWith(NOTICE);
