/** Swarms: published agents by name, their contacts; publishing and removing one. */
import { z } from "zod";
import { DEFAULT_PROFILE } from "../../../core/agent/agent.ts";
import { nametagSchema, type SwarmRecord, swarmRecordSchema } from "../../../core/agent/swarm.ts";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { OWNER } from "../../../core/people/person.ts";
import { submit } from "../../../engine/commit/submit.ts";
import { auditOp } from "../../../engine/people/audit-entry.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { swarmContactSchema } from "../schemas/agent.ts";
import { pageSchema } from "../schemas/list.ts";
import { findAgent, limitQuery, nextOf } from "./params.ts";

const nametag = z.object({ nametag: z.string().min(1).max(80) });

const swarmsRoute = defineRoute({
  name: "listSwarms",
  method: "GET",
  path: "/api/swarms",
  access: "read",
  action: "manage.swarms",
  tag: "agents",
  summary: "List swarms by name",
  query: z.strictObject({ limit: limitQuery(500, 100), after: z.string().max(80).optional() }),
  output: pageSchema(swarmRecordSchema, "after", z.string()),
  async handle({ context, query: { limit, after } }) {
    const swarms = await context.ports.store.swarms({ limit, after: after || undefined });
    return {
      json: listOf(
        swarms,
        nextOf(swarms, limit, ({ nametag: name }) => name),
      ),
    };
  },
});

const swarmRoute = defineRoute({
  name: "getSwarm",
  method: "GET",
  path: "/api/swarms/:nametag",
  access: "read",
  action: "manage.swarms",
  tag: "agents",
  summary: "One swarm and its latest contacts",
  params: nametag,
  query: z.strictObject({ limit: limitQuery(500, 50) }),
  output: z.strictObject({ swarm: swarmRecordSchema, contacts: z.array(swarmContactSchema) }),
  async handle({ context, params, query: { limit } }) {
    const { store } = context.ports;
    const swarm = await store.swarm(params.nametag);
    if (!swarm) throw noSwarm(params.nametag);
    return { json: { swarm, contacts: await store.swarmContacts(swarm.nametag, { limit }) } };
  },
});

const noSwarm = (nametag: string): NotFoundError =>
  new NotFoundError(`There is no swarm ${nametag}.`, {
    hint: "Run `rookery agents swarms`, or ask GET /api/swarms, to see all.",
  });

const text = (max: number) => z.string().trim().min(1).max(max);

const publishRoute = defineRoute({
  name: "publishSwarm",
  method: "POST",
  path: "/api/swarms",
  access: "admin",
  action: "create_swarm",
  tag: "agents",
  summary: "Publish a swarm under a name; each contact gets an agent of its own behind it",
  example: { nametag: "helpdesk", firstName: "Helpdesk", systemPrompt: "You answer questions about orders." },
  body: z.strictObject({
    nametag: nametagSchema,
    firstName: text(200),
    lastName: text(200).optional(),
    bio: text(2_000).optional(),
    about: text(2_000).optional(),
    systemPrompt: text(1_000_000),
    /** Whether its agents see the memory of the profile. */
    memory: z.boolean().default(false),
  }),
  output: { 201: swarmRecordSchema },
  errors: { 409: "The name is taken." },
  async handle(call) {
    const { context, principal, surface, body, record } = call;
    assertOwner(principal);
    const { ports } = context;
    const at = ports.clock.now();
    const owner = (await findAgent(call, context.settings.current.session.mainKey))?.id ?? OWNER;
    const swarm: SwarmRecord = { ...body, owner, profile: DEFAULT_PROFILE, createdAt: at };
    const reply = { status: 201 as const, json: swarm };
    const audited = { action: "swarm.put", target: swarm.nametag, args: body };
    const done = await submit(ports, "swarm.put", [
      { op: "swarm.put", swarm, fresh: true },
      auditOp(actorOf(principal, surface), at, audited),
      ...record(reply),
    ]);
    if (!done.ok) throw new ConflictError(`There is a swarm ${swarm.nametag}: ${done.detail}`);
    return reply;
  },
});

const removeSwarmRoute = defineRoute({
  name: "removeSwarm",
  method: "DELETE",
  path: "/api/swarms/:nametag",
  access: "admin",
  action: "remove_swarm",
  tag: "agents",
  summary: "Free a swarm's name, and remove its agents when they are idle",
  params: nametag,
  output: z.strictObject({ removed: z.string() }),
  async handle({ context, params }) {
    await context.agents.lifecycle.removeSwarm(params.nametag);
    return { json: { removed: params.nametag } };
  },
});

export const swarmRoutes: readonly Route[] = [swarmsRoute, swarmRoute, publishRoute, removeSwarmRoute];
