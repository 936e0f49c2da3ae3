/** Usage since a time, budgets, and raising a budget. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { limitsOf, microsOf } from "../../../core/budget/budget.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { liftBudget, listBudgets, spentSince } from "../../../engine/budgets/budget-book.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { LIST, numberQuery } from "./params.ts";

const DAY_MS = 24 * 3600_000;

const usageRoute = defineRoute({
  method: "GET",
  path: "/api/usage",
  access: "read",
  action: "session_status",
  own: true,
  tag: "usage",
  summary: "The usage of runs since a time: total, by agent and by person; of a token that sees only its own, that",
  query: z.object({ since: numberQuery() }),
  answers: { status: 200, holds: "`{ since, tokens, dollars, by }`; `since` in milliseconds, a day ago by default" },
  async handle({ context, principal, query }) {
    const { store } = context.ports;
    const since = query.since ?? context.ports.clock.now() - DAY_MS;
    const sees = isConfined(principal)
      ? (agent: AgentRecord | undefined) => agent !== undefined && seesAgent(principal, agent)
      : undefined;
    return { json: { since, ...(await spentSince({ store }, since, sees)) } };
  },
});

const budgetsRoute = defineRoute({
  method: "GET",
  path: "/api/budgets",
  access: "read",
  action: "manage.budgets",
  tag: "usage",
  summary: "Budgets and what is spent of them: agents, trees, profiles, people, tokens, messages and the day",
  answers: { status: 200, holds: LIST, list: true },
  handle: async ({ context }) => ({
    json: listOf(await listBudgets(context.ports, limitsOf(context.config().budgets))),
  }),
});

const liftRoute = defineRoute({
  method: "POST",
  path: "/api/budgets/:key/lift",
  access: "operate",
  action: "manage.budgets",
  tag: "usage",
  summary: "Raise a budget: by its own size, or by `tokens` and `dollars`, or by `messages`",
  params: z.object({ key: z.string().min(1).max(512) }),
  example: { tokens: 100_000 },
  body: z.strictObject({
    tokens: z.int().positive().optional(),
    dollars: z.number().positive().lt(1e9).optional(),
    /** Of a budget that counts messages. */
    messages: z.int().positive().optional(),
  }),
  bodyOptional: true,
  answers: { status: 200, holds: "the budget" },
  async handle({ context, params, body: { dollars, messages, ...body }, record }) {
    if ((messages !== undefined) !== params.key.startsWith("messages:") && (messages ?? body.tokens ?? dollars)) {
      throw new InvalidInputError(
        "Budgets that begin with messages: are lifted by `messages`, all others by tokens or dollars.",
      );
    }
    const tokens = messages ?? body.tokens;
    const micros = dollars === undefined ? undefined : microsOf(dollars);
    const more = tokens === undefined && micros === undefined ? undefined : { tokens, micros };
    const limits = limitsOf(context.config().budgets);
    return { json: await liftBudget(context.ports, limits, params.key, more, (json) => record({ json })) };
  },
});

export const spendRoutes: readonly Route[] = [usageRoute, budgetsRoute, liftRoute];
