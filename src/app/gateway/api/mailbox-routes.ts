/** The mailbox of a person: read what waits, follow it, acknowledge it. */
import { z } from "zod";
import type { DeliveryId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { MAX_ACKNOWLEDGED, MAX_PAGE, type Mailbox, type MailboxPage } from "../../../engine/outbox/mailboxes.ts";
import type { CloseReason } from "../events/event-stream-writer.ts";
import { readerView, streamMailbox } from "../events/mailbox-stream.ts";
import { assertStreamAllowed } from "../events/open-event-stream.ts";
import { HttpError } from "../http/http-error.ts";
import { ANSWERED } from "../http/send-reply.ts";
import { mailboxOf } from "../messages/mailbox-of.ts";
import { eventStream } from "../routing/output.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { mailboxItemSchema } from "../schemas/delivery.ts";
import { pageSchema } from "../schemas/list.ts";
import { limitQuery, numberQuery } from "./params.ts";

const name = z.string().trim().min(1).max(256).optional();
const reader = { user: name, terminal: name };
const MAX_WAIT_SECONDS = 60;

const deliveriesRoute = defineRoute({
  name: "listMailbox",
  method: "GET",
  path: "/api/deliveries",
  access: "chat",
  action: "message",
  own: true,
  tag: "mailbox",
  summary: "What waits in a mailbox, oldest first; `wait` waits up to 60 seconds if it is empty",
  query: z.strictObject({
    ...reader,
    after: numberQuery(),
    limit: limitQuery(MAX_PAGE, 100),
    wait: numberQuery(MAX_WAIT_SECONDS),
  }),
  output: pageSchema(mailboxItemSchema, "after", z.number()),
  async handle(call) {
    const { query, principal } = call;
    const mailbox = mailboxOf(principal, query);
    const { items, next } = await pageOf(call, mailbox);
    return { json: listOf(items.map(readerView), next) };
  },
});

type PageQuery = { after?: number; limit: number; wait?: number };
type PageCall = Pick<Call<unknown, PageQuery>, "context" | "principal" | "query" | "outgoing">;

/** The page, or after an empty one the page that the first arrival makes. */
async function pageOf(call: PageCall, mailbox: Mailbox): Promise<MailboxPage> {
  const { context, query } = call;
  const read = () => context.agents.deliveries.mailboxes.page(mailbox, query);
  const page = await read();
  if (page.items.length > 0 || !query.wait) return page;
  assertStreamAllowed(call);
  await arrival(call, mailbox, query.wait * 1_000);
  return read();
}

/**
 * Resolves when something waits in the mailbox, at the end of the time, when the reader is gone or the gateway stops. A request
 * that waits counts as an open stream, so that one token cannot take all places. Throws a 401 if the token is revoked.
 */
function arrival({ context, principal, outgoing }: PageCall, mailbox: Mailbox, ms: number): Promise<void> {
  const { agents, ports, streams } = context;
  return new Promise((resolve, reject) => {
    const release = (): void => {
      cancel();
      unfollow();
      forget();
      outgoing.off("close", done);
    };
    const done = (): void => {
      release();
      resolve();
    };
    const close = (reason: CloseReason): void => {
      release();
      if (reason === "revoked") reject(new HttpError(401, "unauthorized", "The token was revoked."));
      else resolve();
    };
    const cancel = ports.clock.after(ms, done);
    const unfollow = agents.deliveries.mailboxes.follow(mailbox, done);
    const forget = streams.add(principal, { close });
    outgoing.once("close", done);
  });
}

const deliveryEventsRoute = defineRoute({
  name: "streamMailbox",
  method: "GET",
  path: "/api/deliveries/events",
  access: "chat",
  action: "message",
  own: true,
  tag: "mailbox",
  summary: "Stream a mailbox: what waits, then what arrives",
  query: z.strictObject(reader),
  output: eventStream("`delivery`: an item of the mailbox"),
  handle(call) {
    assertStreamAllowed(call);
    streamMailbox(call, mailboxOf(call.principal, call.query));
    return ANSWERED;
  },
});

const acknowledgeRoute = defineRoute({
  name: "acknowledgeDeliveries",
  method: "POST",
  path: "/api/deliveries/ack",
  access: "chat",
  action: "message",
  own: true,
  tag: "mailbox",
  summary: "Acknowledge deliveries by their ids, in any order; they leave the mailbox",
  example: { ids: ["v3n7k2"] },
  body: z.strictObject({ ids: z.array(z.string().min(1).max(256)).min(1).max(MAX_ACKNOWLEDGED), ...reader }),
  output: z.strictObject({ acknowledged: z.array(z.string()) }),
  async handle({ context, principal, body }) {
    const mailbox = mailboxOf(principal, body);
    const ids = body.ids as DeliveryId[];
    return { json: { acknowledged: await context.agents.deliveries.mailboxes.acknowledge(mailbox, ids) } };
  },
});

export const mailboxRoutes: readonly Route[] = [deliveriesRoute, deliveryEventsRoute, acknowledgeRoute];
