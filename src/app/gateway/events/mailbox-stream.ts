/**
 * Streams a mailbox: everything that waits in it, then what arrives. What a reader does not acknowledge comes again with the
 * next stream; the delivery's id is the reader's key (M27).
 */
import type { Delivery } from "../../../core/delivery/delivery.ts";
import type { Mailbox, Mailboxes } from "../../../engine/outbox/mailboxes.ts";
import type { Frame } from "./event-stream-writer.ts";
import { openEventStream, type StreamContext, type StreamRequest } from "./open-event-stream.ts";

interface MailboxStreamContext extends StreamContext {
  readonly agents: StreamContext["agents"] & { readonly deliveries: { readonly mailboxes: Pick<Mailboxes, "follow"> } };
}

/** A delivery as its reader sees it. */
export const readerView = ({ id, n, agentId, runId, target, payload, createdAt }: Delivery) => {
  const { slot: _, ...content } = payload;
  return { id, n, agentId, runId, to: target.to, ...content, createdAt };
};

/** Without an id: what continues a stream of events is the last event of its run, not a delivery. */
export const deliveryFrame = (delivery: Delivery): Frame => ({
  text: "",
  render: () => `event: delivery\ndata: ${JSON.stringify(readerView(delivery))}\n\n`,
});

export function streamMailbox(request: StreamRequest<MailboxStreamContext>, mailbox: Mailbox): void {
  const writer = openEventStream(request);
  const { mailboxes } = request.context.agents.deliveries;
  writer.onClose(mailboxes.follow(mailbox, (delivery) => writer.write(deliveryFrame(delivery))));
}
