/** The mailbox of a person: read what waits, follow it, acknowledge it. */
import { z } from "zod";
import type { DeliveryId } from "../../../core/ids.ts";
import { MAX_ACKNOWLEDGED, MAX_PAGE, type Mailbox, type MailboxPage } from "../../../engine/outbox/mailboxes.ts";
import { readerView, streamMailbox } from "../events/mailbox-stream.ts";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { mailboxOf } from "../messages/mailbox-of.ts";
import type { GatewayContext } from "../routing/gateway-context.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { limitQuery, numberQuery } from "./params.ts";

const name = z.string().trim().min(1).max(256).optional();
const reader = { user: name, terminal: name };
const MAX_WAIT_SECONDS = 60;

const deliveriesRoute = defineRoute({
  method: "GET",
  path: "/api/deliveries",
  access: "chat",
  tag: "mailbox",
  summary: "What waits in a mailbox, oldest first; `wait` waits up to 60 seconds if it is empty",
  query: z.object({
    ...reader,
    after: numberQuery(),
    limit: limitQuery(MAX_PAGE, 100),
    wait: numberQuery(MAX_WAIT_SECONDS),
  }),
  answers: { status: 200, holds: "`{ items: [...], next }`; send `next` as `after` for the rest of this pass" },
  async handle(call) {
    const { query, principal } = call;
    const mailbox = mailboxOf(principal, query);
    const { items, next } = await pageOf(call, mailbox);
    return { json: { items: items.map(readerView), next } };
  },
});

type PageCall = Pick<Call<unknown, { after?: number; limit: number; wait?: number }>, "context" | "query" | "outgoing">;

/** The page, or after an empty one the page that the first arrival makes. */
async function pageOf({ context, query, outgoing }: PageCall, mailbox: Mailbox): Promise<MailboxPage> {
  const { mailboxes } = context.agents.deliveries;
  const read = () => mailboxes.page(mailbox, query);
  const page = await read();
  if (page.items.length > 0 || !query.wait) return page;
  await arrival(context, mailbox, query.wait * 1_000, outgoing);
  return read();
}

/** Resolves when something waits in the mailbox, at the end of the time, when the reader is gone or the gateway stops. */
function arrival(
  { agents, ports, stopping }: GatewayContext,
  mailbox: Mailbox,
  ms: number,
  outgoing: PageCall["outgoing"],
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      unfollow();
      outgoing.off("close", done);
      stopping.removeEventListener("abort", done);
      resolve();
    };
    const cancel = ports.clock.after(ms, done);
    const unfollow = agents.deliveries.mailboxes.follow(mailbox, done);
    outgoing.once("close", done);
    stopping.addEventListener("abort", done, { once: true });
  });
}

const deliveryEventsRoute = defineRoute({
  method: "GET",
  path: "/api/deliveries/events",
  access: "chat",
  tag: "mailbox",
  summary: "Stream a mailbox: what waits, then what arrives",
  query: z.object(reader),
  answers: { status: 200, holds: "events: delivery", type: "text/event-stream" },
  handle(call) {
    assertStreamAllowed(call);
    streamMailbox(call, mailboxOf(call.principal, call.query));
    return ANSWERED;
  },
});

const acknowledgeRoute = defineRoute({
  method: "POST",
  path: "/api/deliveries/ack",
  access: "chat",
  tag: "mailbox",
  summary: "Acknowledge deliveries by their ids, in any order; they leave the mailbox",
  body: z.strictObject({ ids: z.array(z.string().min(1).max(256)).min(1).max(MAX_ACKNOWLEDGED), ...reader }),
  answers: { status: 200, holds: "`{ acknowledged: [...] }`: the ids that are acknowledged, now or before" },
  async handle({ context, principal, body }) {
    const mailbox = mailboxOf(principal, body);
    const ids = body.ids as DeliveryId[];
    return { json: { acknowledged: await context.agents.deliveries.mailboxes.acknowledge(mailbox, ids) } };
  },
});

export const mailboxRoutes: readonly Route[] = [deliveriesRoute, deliveryEventsRoute, acknowledgeRoute];
