/**
 * On a channel with receipts a delivery ends as what became of its last attempt, whenever the channel says it, and the agent reads once
 * what did not arrive (L5). Only one about which nothing was said stays unconfirmed.
 */
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import type { SendRecord } from "../world/channel.ts";
import { broken, type View, type Violation } from "./audit-view.ts";
import type { ListedAgent } from "./evidence.ts";

export function* receipts({ channels, listed }: View): Iterable<Violation> {
  for (const { name, receipts: said, sends } of channels) {
    if (!said) continue;
    for (const { acknowledgedAt, deliveryId, attempt } of said.records) {
      if (acknowledgedAt === undefined)
        yield broken("liveness", `the receipt of ${deliveryId} (${attempt}) was never acknowledged`);
    }
    for (const of of listed) {
      for (const delivery of of.deliveries) {
        const mine = delivery.target.channel === name ? sends.filter((one) => one.deliveryId === delivery.id) : [];
        const last = mine.at(-1);
        if (last) yield* endOf(delivery, last, of);
      }
    }
  }
}

function* endOf(delivery: Delivery, last: SendRecord, of: ListedAgent): Iterable<Violation> {
  const { id, state, reason, attempts, payload } = delivery;
  // The last attempt began and never reached the channel: no one can know that.
  if (attempts > (last.attempt ?? 0) && state === "unconfirmed") return;
  const expected = { arrived: "sent", failed: "failed", again: "failed", none: undefined }[last.later ?? "none"];
  if (expected !== undefined && state !== expected)
    yield broken("L5", `the channel said that ${id} has ${last.later}, but it is ${state}`);
  if (last.later === undefined && last.result === "unknown" && state !== "unconfirmed")
    yield broken("L12", `nothing was said about ${id}, but it is ${state}`);
  // All notices have the same text, so a note does not say which of them it is about.
  if (payload.notice) return;
  const notes = of.messages.filter(({ body }) => body.kind === "system" && isAbout(body.text, last.text));
  const isToldLater = expected === "failed" && reason?.includes(" on ");
  if (notes.length !== (isToldLater ? 1 : 0))
    yield broken("L5", `its agent was told ${notes.length} times that ${id} did not arrive, and it is ${state}`);
}

/** Whether a note says that this text did not arrive. It quotes the beginning of a long one. */
function isAbout(note: string, sent: string): boolean {
  const quoted = /^This did not reach \S+: (".*")$/m.exec(note)?.[1];
  const said = quoted === undefined ? undefined : (JSON.parse(quoted) as string);
  if (said === undefined) return false;
  return said === sent.trim() || (said.length > 100 && sent.trim().startsWith(said));
}
