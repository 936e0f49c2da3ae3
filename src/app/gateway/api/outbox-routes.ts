/** The outbox: deliveries to channels, retrying one that ended, dropping one that waits. */

import { z } from "zod";
import { deliveryStateSchema } from "../../../core/delivery/delivery.ts";
import { NotFoundError } from "../../../core/errors.ts";
import type { DeliveryId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import { type ByPerson, listDeliveries } from "../../../engine/outbox/dead-letters.ts";
import { actorOf } from "../auth/actor.ts";
import { withDeliveryNames } from "../reads/with-names.ts";
import { type Call, defineRoute, type Route } from "../routing/route.ts";
import { deliverySchema } from "../schemas/delivery.ts";
import { pageSchema } from "../schemas/list.ts";
import { limitQuery, nextOf, numberQuery, requireAgent, statesQuery } from "./params.ts";

const deliveryParams = z.object({ delivery: z.string().min(1).max(256) });

const outboxRoute = defineRoute({
  name: "listOutbox",
  method: "GET",
  path: "/api/outbox",
  access: "read",
  action: "manage.outbox",
  tag: "outbox",
  summary: "List deliveries: the open ones, or those in a state",
  query: z.strictObject({
    state: statesQuery(deliveryStateSchema),
    agent: z.string().min(1).max(512).optional(),
    after: numberQuery(),
    limit: limitQuery(500, 100),
  }),
  output: pageSchema(deliverySchema, "after", z.number()),
  async handle({ context, principal, query: { state, agent, after, limit } }) {
    const agentId = agent === undefined ? undefined : (await requireAgent({ context, principal }, agent)).id;
    const filter = { limit, afterN: after, agentId, states: state };
    const deliveries = await listDeliveries(context.ports, filter);
    return {
      json: listOf(
        await withDeliveryNames(context.ports.store, deliveries),
        nextOf(deliveries, limit, ({ n }) => n),
      ),
    };
  },
});

const deliveryRoute = defineRoute({
  name: "getDelivery",
  method: "GET",
  path: "/api/outbox/:delivery",
  access: "read",
  action: "manage.outbox",
  tag: "outbox",
  summary: "One delivery",
  params: deliveryParams,
  output: deliverySchema,
  async handle({ context, params }) {
    const delivery = await context.ports.store.delivery(params.delivery as DeliveryId);
    if (!delivery) throw new NotFoundError(`There is no delivery ${params.delivery.slice(0, 100)}.`);
    const [named] = await withDeliveryNames(context.ports.store, [delivery]);
    return { json: named ?? delivery };
  },
});

const byPerson = ({ principal, surface, record }: Pick<Call, "principal" | "surface" | "record">): ByPerson => ({
  by: actorOf(principal, surface),
  also: (json) => record({ json }),
});

const retryRoute = defineRoute({
  name: "retryDelivery",
  method: "POST",
  path: "/api/outbox/:delivery/retry",
  access: "operate",
  action: "manage.outbox",
  tag: "outbox",
  summary: "Retry a delivery that has ended",
  params: deliveryParams,
  output: deliverySchema,
  async handle(call) {
    const { context, params } = call;
    return { json: await context.agents.deliveries.retry(params.delivery as DeliveryId, byPerson(call)) };
  },
});

const editRoute = defineRoute({
  name: "editDelivery",
  method: "POST",
  path: "/api/outbox/:delivery/edit",
  access: "operate",
  action: "manage.outbox",
  tag: "outbox",
  summary: "Send a delivery that has ended, or has no route, with another text",
  params: deliveryParams,
  example: { text: "The meeting is at three." },
  body: z.strictObject({ text: z.string().trim().min(1) }),
  output: deliverySchema,
  async handle(call) {
    const { context, params, body } = call;
    return { json: await context.agents.deliveries.edit(params.delivery as DeliveryId, body.text, byPerson(call)) };
  },
});

const dropRoute = defineRoute({
  name: "dropDelivery",
  method: "POST",
  path: "/api/outbox/:delivery/drop",
  access: "operate",
  action: "manage.outbox",
  tag: "outbox",
  summary: "Drop a delivery that waits: for its next attempt, its reader or a route",
  params: deliveryParams,
  output: deliverySchema,
  async handle(call) {
    const { context, params } = call;
    return { json: await context.agents.deliveries.drop(params.delivery as DeliveryId, byPerson(call)) };
  },
});

export const outboxRoutes: readonly Route[] = [outboxRoute, deliveryRoute, retryRoute, editRoute, dropRoute];
