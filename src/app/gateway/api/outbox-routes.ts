/** The outbox: everything that is or was owed outside; what ended badly is owed again, what waits is given up. */
import { z } from "zod";
import { deliveryStateSchema } from "../../../core/delivery/delivery.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { listDeliveries } from "../../../engine/outbox/dead-letters.ts";
import { defineRoute } from "../http/route.ts";
import { agentOf, limitQuery, numberQuery } from "./inputs.ts";

const deliveryParams = z.object({ delivery: z.string().min(1).max(256) });

export const outboxRoute = defineRoute({
  method: "GET",
  path: "/api/outbox",
  access: "read",
  tag: "outbox",
  summary: "List deliveries: those under way, or those in a state",
  query: z.object({
    state: deliveryStateSchema.optional(),
    agent: z.string().min(1).max(512).optional(),
    after: numberQuery(),
    limit: limitQuery(500, 100),
  }),
  answers: { status: 200, holds: "`{ deliveries: [...], next }`; `next` goes into `after`" },
  async handle({ context, query: { state, agent, after, limit } }) {
    const agentId = agent === undefined ? undefined : (await agentOf(context, agent)).id;
    const filter = { limit, afterN: after, agentId, ...(state ? { states: [state] } : {}) };
    const deliveries = await listDeliveries(context.ports, filter);
    return { json: { deliveries, next: deliveries.length === limit ? deliveries.at(-1)?.n : null } };
  },
});

export const deliveryRoute = defineRoute({
  method: "GET",
  path: "/api/outbox/:delivery",
  access: "read",
  tag: "outbox",
  summary: "One delivery",
  params: deliveryParams,
  answers: { status: 200, holds: "the delivery" },
  async handle({ context, params }) {
    const delivery = await context.ports.store.delivery(params.delivery as DeliveryId);
    if (!delivery) throw new NotFoundError(`There is no delivery ${params.delivery.slice(0, 100)}.`);
    return { json: delivery };
  },
});

export const retryRoute = defineRoute({
  method: "POST",
  path: "/api/outbox/:delivery/retry",
  access: "operate",
  tag: "outbox",
  summary: "Owe a delivery that has ended once more",
  params: deliveryParams,
  answers: { status: 200, holds: "the delivery, pending again" },
  async handle({ context, params }) {
    return { json: await context.agents.deliveries.retry(params.delivery as DeliveryId) };
  },
});

export const dropRoute = defineRoute({
  method: "POST",
  path: "/api/outbox/:delivery/drop",
  access: "operate",
  tag: "outbox",
  summary: "Give up a delivery that waits to be tried again",
  params: deliveryParams,
  answers: { status: 200, holds: "the delivery, failed" },
  handle: async ({ context, params }) => ({
    json: await context.agents.deliveries.drop(params.delivery as DeliveryId),
  }),
});
