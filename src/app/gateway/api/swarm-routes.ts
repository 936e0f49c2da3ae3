/** Swarms: published agents by name, their contacts, and removing one. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { limitQuery } from "./params.ts";

const nametag = z.object({ nametag: z.string().min(1).max(80) });

const swarmsRoute = defineRoute({
  method: "GET",
  path: "/api/swarms",
  access: "read",
  tag: "agents",
  summary: "List swarms by name",
  query: z.object({ limit: limitQuery(500, 100), after: z.string().max(80).optional() }),
  answers: { status: 200, holds: "`{ swarms: [...] }`" },
  async handle({ context, query: { limit, after } }) {
    return { json: { swarms: await context.ports.store.swarms({ limit, after: after || undefined }) } };
  },
});

const swarmRoute = defineRoute({
  method: "GET",
  path: "/api/swarms/:nametag",
  access: "read",
  tag: "agents",
  summary: "One swarm and its latest contacts",
  params: nametag,
  query: z.object({ limit: limitQuery(500, 50) }),
  answers: { status: 200, holds: "`{ swarm, contacts: [...] }`" },
  async handle({ context, params, query: { limit } }) {
    const { store } = context.ports;
    const swarm = await store.swarm(params.nametag);
    if (!swarm) throw new NotFoundError(`There is no swarm ${params.nametag}.`);
    return { json: { swarm, contacts: await store.swarmContacts(swarm.nametag, { limit }) } };
  },
});

const removeSwarmRoute = defineRoute({
  method: "DELETE",
  path: "/api/swarms/:nametag",
  access: "admin",
  tag: "agents",
  summary: "Free a swarm's name, and remove its agents when they are idle",
  params: nametag,
  answers: { status: 200, holds: "`{ removed: nametag }`" },
  async handle({ context, params }) {
    await context.agents.lifecycle.removeSwarm(params.nametag);
    return { json: { removed: params.nametag } };
  },
});

export const swarmRoutes: readonly Route[] = [swarmsRoute, swarmRoute, removeSwarmRoute];
