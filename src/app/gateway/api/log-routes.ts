/** The latest lines of this process's log. Secrets in them are masked when they are written. */
import { z } from "zod";
import { listOf } from "../../../core/list.ts";
import { assertOwner } from "../auth/actor.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { listSchema } from "../schemas/list.ts";
import { type LogLine, logLineSchema } from "../schemas/status.ts";
import { limitQuery, numberQuery } from "./params.ts";

const logRoute = defineRoute({
  name: "listLogLines",
  method: "GET",
  path: "/api/logs",
  access: "operate",
  action: "manage.health",
  tag: "health",
  summary: "The latest lines of the log of this process, oldest first, or those after a number",
  query: z.strictObject({ after: numberQuery(), limit: limitQuery(1_000, 200) }),
  output: listSchema(logLineSchema),
  handle({ context, principal, query: { after = 0, limit } }) {
    assertOwner(principal);
    const lines = (context.ports.log.recent?.() ?? []).filter(({ n }) => n > after).slice(-limit);
    return { json: listOf(lines.map(({ n, text }): LogLine => ({ ...JSON.parse(text), n }))) };
  },
});

export const logRoutes: readonly Route[] = [logRoute];
