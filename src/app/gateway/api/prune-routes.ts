/** Removing what is old: what would be removed, and its removal. Only the owner does it. */
import { z } from "zod";
import { submit } from "../../../engine/commit/submit.ts";
import { auditOp } from "../../../engine/people/audit-entry.ts";
import { prune } from "../../operations/prune/prune.ts";
import { actorOf, assertOwner } from "../auth/actor.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { pruneReportSchema } from "../schemas/status.ts";

const pruneRoute = defineRoute({
  name: "prune",
  method: "POST",
  path: "/api/prune",
  access: "admin",
  action: "manage.health",
  tag: "operations",
  summary: "Remove ended rows and files that nothing needs, by age; `dryRun` only says what would be removed",
  example: { days: 90, dryRun: true },
  body: z.strictObject({
    days: z.number().int().min(1).max(36_500).optional(),
    dryRun: z.boolean().optional(),
    compact: z.boolean().optional(),
  }),
  output: pruneReportSchema,
  async handle({ context, principal, surface, body }) {
    assertOwner(principal);
    const { ports, agents, paths, settings } = context;
    const json = await prune({ ports, agents, paths, config: settings.current }, body);
    const row = auditOp(actorOf(principal, surface), ports.clock.now(), { action: "prune", args: body });
    if (json.removed) await submit(ports, "prune.audit", [row]);
    return { json };
  },
});

export const pruneRoutes: readonly Route[] = [pruneRoute];
