/** Conversations that a change of `session.dmScope` leaves behind: list them, carry them over, or leave them. Only the owner decides. */

import { z } from "zod";
import { DM_SCOPES } from "../../../core/agent/session-key.ts";
import { carryOver, carryPlan, carryWarning, leaveBehind } from "../../../engine/people/carry-over.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { withAgentNames } from "../reads/with-names.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { leftBehindSchema } from "../schemas/agent.ts";

/** Of a list for a person: programs carry over without it. */
const MAX_SHOWN = 500;

const scope = z.enum(DM_SCOPES).optional().describe("The scope to look at. Default: `session.dmScope`");

const planRoute = defineRoute({
  name: "planCarryOver",
  method: "GET",
  path: "/api/carry-over",
  access: "operate",
  action: "manage.people",
  tag: "people",
  summary: "Conversations that a change of session.dmScope leaves behind",
  query: z.strictObject({ scope }),
  output: z.strictObject({
    scope: z
      .enum(["main", "per-account-channel-peer", "per-channel-peer", "per-peer"])
      .describe("The scope that is, or would be, in force."),
    earlier: z.array(z.enum(["main", "per-account-channel-peer", "per-channel-peer", "per-peer"])),
    isPartial: z.boolean().describe("There are more agents than were looked at."),
    items: z.array(leftBehindSchema),
    next: z.null(),
    warning: z.string().nullable(),
    total: z.number(),
  }),
  async handle({ context, principal, query }) {
    assertOwner(principal);
    const config = context.settings.current;
    const plan = await carryPlan(context.ports, config, query.scope);
    const warning = carryWarning(plan, plan.scope === config.session.dmScope) ?? null;
    const { items, ...rest } = plan;
    const named = await withAgentNames(context.ports.store, items.slice(0, MAX_SHOWN));
    return { json: { items: named, next: null, ...rest, warning, total: items.length } };
  },
});

const carryRoute = defineRoute({
  name: "carryOver",
  method: "POST",
  path: "/api/carry-over",
  access: "operate",
  action: "manage.people",
  tag: "people",
  summary: "Carry conversations over into the scope in force, or leave them behind for good",
  body: z.strictObject({
    answer: z.enum(["carry", "leave"]).describe("`leave`: nobody is asked again"),
    scope,
    replace: z.boolean().optional().describe("Also those whose person has begun a newer conversation"),
  }),
  example: { answer: "carry" },
  output: z.strictObject({ carried: z.number() }),
  async handle({ context, principal, surface, body }) {
    assertOwner(principal);
    const by = actorOf(principal, surface);
    if (body.answer === "leave") {
      await leaveBehind(context.ports, context.settings.current, by);
      return { json: { carried: 0 } };
    }
    const carried = await carryOver(context.ports, context.settings.current, body, by);
    await context.agents.pairing.reread();
    return { json: { carried: carried.length } };
  },
});

export const carryOverRoutes: readonly Route[] = [planRoute, carryRoute];
