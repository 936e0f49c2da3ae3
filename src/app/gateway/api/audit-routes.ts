/** The audit log, newest rows first. Only the owner reads it. */

import { z } from "zod";
import { listOf } from "../../../core/list.ts";
import { VERDICTS } from "../../../core/people/grant.ts";
import { assertOwner } from "../auth/actor.ts";
import { withAgentNames, withPersonNames } from "../reads/with-names.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { pageSchema } from "../schemas/list.ts";
import { auditRowSchema } from "../schemas/rights.ts";
import { findAgent, limitQuery, nextOf, numberQuery } from "./params.ts";

const name = z.string().trim().min(1).max(512).optional();

const auditRoute = defineRoute({
  name: "listAudit",
  method: "GET",
  path: "/api/audit",
  access: "operate",
  action: "manage.audit",
  tag: "audit",
  summary: "Who did what, for which person, and what was decided, newest first; only the owner reads it",
  query: z.strictObject({
    person: name,
    agent: name,
    action: name,
    decision: z.enum(VERDICTS).optional(),
    since: numberQuery(),
    before: numberQuery(),
    limit: limitQuery(1_000, 100),
  }),
  output: pageSchema(auditRowSchema, "before", z.number()),
  async handle({ context, principal, query: { person, agent, action, decision, since, before, limit } }) {
    assertOwner(principal);
    // Rows of a removed agent stay under its id.
    const agentId = agent === undefined ? undefined : ((await findAgent({ context, principal }, agent))?.id ?? agent);
    const filter = { limit, person, agentId, action, decision, since, beforeN: before };
    const { store } = context.ports;
    const items = await store.audit(filter);
    return {
      json: listOf(
        await withPersonNames(store, await withAgentNames(store, items), ({ person: whose }) => whose),
        nextOf(items, limit, ({ n }) => n),
      ),
    };
  },
});

export const auditRoutes: readonly Route[] = [auditRoute];
