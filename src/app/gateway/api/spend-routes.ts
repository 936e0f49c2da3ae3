/** What was used and what may be: usage since a time, budgets, and allowing more. */
import { z } from "zod";
import { limitsOf } from "../../../core/budget/budget.ts";
import { liftBudget, listBudgets, spentSince } from "../../../engine/budgets/budget-book.ts";
import { defineRoute } from "../http/route.ts";
import { numberQuery } from "./inputs.ts";

const DAY_MS = 24 * 3600_000;

export const usageRoute = defineRoute({
  method: "GET",
  path: "/api/usage",
  access: "read",
  tag: "usage",
  summary: "What runs have used since a time: in all, and by agent and person",
  query: z.object({ since: numberQuery() }),
  answers: { status: 200, holds: "`{ since, tokens, dollars, by }`; `since` in milliseconds, a day ago by default" },
  async handle({ context, query }) {
    const since = query.since ?? context.ports.clock.now() - DAY_MS;
    return { json: { since, ...(await spentSince(context.ports, since)) } };
  },
});

export const budgetsRoute = defineRoute({
  method: "GET",
  path: "/api/budgets",
  access: "read",
  tag: "usage",
  summary: "What was spent of what: agents, trees, people and the day",
  answers: { status: 200, holds: "`{ budgets: [...] }`" },
  handle: async ({ context }) => ({
    json: { budgets: await listBudgets(context.ports, limitsOf(context.config().budgets)) },
  }),
});

export const liftRoute = defineRoute({
  method: "POST",
  path: "/api/budgets/:key/lift",
  access: "operate",
  tag: "usage",
  summary: "Allow more on one budget: as much again, or what is said",
  params: z.object({ key: z.string().min(1).max(512) }),
  body: z.strictObject({
    tokens: z.int().positive().optional(),
    dollars: z.number().positive().max(1_000_000).optional(),
  }),
  bodyOptional: true,
  answers: { status: 200, holds: "the budget" },
  async handle({ context, params, body: { tokens, dollars } }) {
    const more = {
      ...(tokens === undefined ? {} : { tokens }),
      ...(dollars === undefined ? {} : { micros: Math.round(dollars * 1_000_000) }),
    };
    const said = Object.keys(more).length > 0 ? more : undefined;
    return { json: await liftBudget(context.ports, limitsOf(context.config().budgets), params.key, said) };
  },
});
