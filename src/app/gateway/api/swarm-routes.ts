/** Swarms: what is published under which name, who has contacted it, and taking a name back. */
import { z } from "zod";
import { NotFoundError } from "../../../core/errors.ts";
import { defineRoute } from "../http/route.ts";
import { limitQuery } from "./inputs.ts";

const nametag = z.object({ nametag: z.string().min(1).max(80) });

export const swarmsRoute = defineRoute({
  method: "GET",
  path: "/api/swarms",
  access: "read",
  tag: "agents",
  summary: "Swarms, by their names",
  query: z.object({ limit: limitQuery(500, 100), after: z.string().max(80).optional() }),
  answers: { status: 200, holds: "`{ swarms: [...] }`" },
  async handle({ context, query: { limit, after } }) {
    return { json: { swarms: await context.ports.store.swarms({ limit, ...(after ? { after } : {}) }) } };
  },
});

export const swarmRoute = defineRoute({
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

export const removeSwarmRoute = defineRoute({
  method: "DELETE",
  path: "/api/swarms/:nametag",
  access: "admin",
  tag: "agents",
  summary: "Take a swarm's name back, and remove its agents as they come to rest",
  params: nametag,
  answers: { status: 200, holds: "`{ removed: nametag }`" },
  async handle({ context, params }) {
    await context.agents.lifecycle.removeSwarm(params.nametag);
    return { json: { removed: params.nametag } };
  },
});
