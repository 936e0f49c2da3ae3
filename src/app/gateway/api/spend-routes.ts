/** Usage since a time, budgets, and raising a budget. */
import { z } from "zod";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { limitsOf, microsOf } from "../../../core/budget/budget.ts";
import { InvalidInputError } from "../../../core/errors.ts";
import { isAgentId, shortId } from "../../../core/ids.ts";
import { listOf } from "../../../core/list.ts";
import type { PersonId } from "../../../core/people/person.ts";
import { type NameReader, namerOf, namesById, namesInList } from "../../../core/store/agent-names.ts";
import type { ListedBudget, SpentBy, SpentSince } from "../../../core/store/spent.ts";
import type { Store } from "../../../core/store/store.ts";
import { hostZone } from "../../../core/zoned-time.ts";
import { liftBudget, listBudgets, spentSince } from "../../../engine/budgets/budget-book.ts";
import { dayIn } from "../../../engine/budgets/budget-settings.ts";
import type { PeopleNow } from "../../../engine/people/directory.ts";
import { seesAgent } from "../auth/judge-request.ts";
import { isConfined } from "../auth/principal.ts";
import { defineRoute, type Route } from "../routing/route.ts";
import { budgetSchema, type DaySpent, daySpentSchema, spentBySchema } from "../schemas/budget.ts";
import { listSchema } from "../schemas/list.ts";
import { type Asking, limitQuery, numberQuery, requireAgent } from "./params.ts";

const DAY_MS = 24 * 3600_000;

const usageRoute = defineRoute({
  name: "getUsage",
  method: "GET",
  path: "/api/usage",
  access: "read",
  action: "session_status",
  own: true,
  tag: "usage",
  summary: "The usage of runs since a time: total, by agent and by person; of a token that sees only its own, that",
  query: z.strictObject({ since: numberQuery() }),
  output: z.strictObject({ tokens: z.number(), dollars: z.number(), by: z.array(spentBySchema), since: z.number() }),
  async handle({ context, principal, query }) {
    const { store } = context.ports;
    const since = query.since ?? context.ports.clock.now() - DAY_MS;
    const sees = isConfined(principal)
      ? (agent: AgentRecord | undefined) => agent !== undefined && seesAgent(principal, agent)
      : undefined;
    return { json: { since, ...(await spentSince({ store }, since, sees)) } };
  },
});

const MOST_DAYS = 92;

const daysRoute = defineRoute({
  name: "getUsageByDay",
  method: "GET",
  path: "/api/usage/days",
  access: "read",
  action: "session_status",
  own: true,
  tag: "usage",
  summary:
    "The usage of runs by day, the latest first, each by agent and person; and the tokens of their agents by model, over all time",
  query: z.strictObject({ days: limitQuery(MOST_DAYS, 14), timeZone: z.string().max(64).optional() }),
  output: z.strictObject({
    items: z.array(daySpentSchema),
    next: z.null(),
    agents: z
      .record(z.string(), z.strictObject({ name: z.string(), sessionKey: z.string() }))
      .describe("The agents of `by`, by their ids."),
    people: z.record(z.string(), z.string()).describe("The names of the people of `by`, by their ids."),
    models: z.array(z.strictObject({ model: z.string(), tokens: z.number() })),
  }),
  async handle({ context, principal, query: { days, timeZone } }) {
    const { store, clock } = context.ports;
    const zone = knownZone(timeZone) ?? context.settings.current.session.timeZone ?? hostZone();
    const sees = isConfined(principal)
      ? (agent: AgentRecord | undefined) => agent !== undefined && seesAgent(principal, agent)
      : undefined;
    const people = await context.agents.directory.recent();
    const items: (Omit<DaySpent, "by"> & Pick<SpentSince, "by">)[] = [];
    for (let until = clock.now() + 1; items.length < days; ) {
      const day = dayIn(until - 1, zone);
      const from = startOfDay(until - 1, zone);
      const { by, ...spent } = await spentSince({ store }, from, sees, until);
      items.push({ day, from, until, ...spent, by: by.map((one) => ofPerson(one, people)) });
      until = from;
    }
    return { json: { ...listOf(items), ...(await agentsOf(store, items)) } };
  },
});

/** Under the person, with whichever account it was said. */
const ofPerson = (spent: SpentBy, people: Pick<PeopleNow, "personOf">): SpentBy =>
  spent.person === undefined ? spent : { ...spent, person: people.personOf(spent.person as PersonId) };

function knownZone(name: string | undefined): string | undefined {
  try {
    return name && new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** Midnight before a time. A day has 23 to 25 hours. */
function startOfDay(at: number, zone: string): number {
  const day = dayIn(at, zone);
  let [low, high] = [at - 26 * 3_600_000, at];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (dayIn(middle, zone) === day) high = middle;
    else low = middle;
  }
  return high;
}

const MOST_AGENTS = 500;

/** The names of the agents, and their tokens by model. */
async function agentsOf(store: Store, days: readonly Pick<SpentSince, "by">[]) {
  const ids = [...new Set(days.flatMap(({ by }) => by.map(({ agentId }) => agentId)))].slice(0, MOST_AGENTS);
  const found = (await Promise.all(ids.map((id) => store.agent(id)))).filter((agent) => agent !== undefined);
  const names = await namesInList(store, found);
  const namer = namerOf(store);
  const people = [...new Set(days.flatMap(({ by }) => by.flatMap(({ person }) => person ?? [])))].slice(0, MOST_AGENTS);
  const models = new Map<string, number>();
  for (const { state } of found) {
    for (const [provider, own] of Object.entries(state.stats)) {
      for (const [model, { total }] of Object.entries(own)) {
        models.set(`${provider}/${model}`, (models.get(`${provider}/${model}`) ?? 0) + total);
      }
    }
  }
  return {
    agents: Object.fromEntries(found.map(({ id, sessionKey }, at) => [id, { name: names[at] ?? "", sessionKey }])),
    people: Object.fromEntries(await Promise.all(people.map(async (id) => [id, await namer.person(id)] as const))),
    models: [...models].map(([model, tokens]) => ({ model, tokens })).sort((a, b) => b.tokens - a.tokens),
  };
}

const OF_AGENT = /^(agent|tree):(.+)$/su;

async function withBudgetNames(store: NameReader, budgets: readonly ListedBudget[]) {
  const ids = budgets.flatMap(({ key }) => OF_AGENT.exec(key)?.[2] ?? []);
  const names = await namesById(store, ids);
  return budgets.map((one) => {
    const [, scope, id = ""] = OF_AGENT.exec(one.key) ?? [];
    return { ...one, name: scope === undefined ? one.key : `${scope}:${names.get(id) ?? shortId(id)}` };
  });
}

async function budgetName(store: NameReader, key: string): Promise<string> {
  const [, scope, id = ""] = OF_AGENT.exec(key) ?? [];
  return scope === undefined ? key : `${scope}:${(await namerOf(store).nameById(id)) ?? shortId(id)}`;
}

const budgetsRoute = defineRoute({
  name: "listBudgets",
  method: "GET",
  path: "/api/budgets",
  access: "read",
  action: "manage.budgets",
  tag: "usage",
  summary: "Budgets and what is spent of them: agents, trees, profiles, people, tokens, messages and the day",
  output: listSchema(budgetSchema),
  async handle({ context }) {
    const { ports } = context;
    const budgets = await listBudgets(ports, limitsOf(context.settings.current.budgets));
    const named = await withBudgetNames(ports.store, budgets);
    return { json: listOf(named) };
  },
});

const liftRoute = defineRoute({
  name: "liftBudget",
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
  output: budgetSchema,
  async handle({ context, principal, params, body: { dollars, messages, ...body }, record }) {
    if ((messages !== undefined) !== params.key.startsWith("messages:") && (messages ?? body.tokens ?? dollars)) {
      throw new InvalidInputError(
        "Budgets that begin with messages: are lifted by `messages`, all others by tokens or dollars.",
      );
    }
    const tokens = messages ?? body.tokens;
    const micros = dollars === undefined ? undefined : microsOf(dollars);
    const more = tokens === undefined && micros === undefined ? undefined : { tokens, micros };
    const limits = limitsOf(context.settings.current.budgets);
    const key = await keyNamed({ context, principal }, params.key);
    const { store } = context.ports;
    const name = await budgetName(store, key);
    const also = (lifted: ListedBudget) => record({ json: { ...lifted, name } });
    return { json: { ...(await liftBudget(context.ports, limits, key, more, also)), name } };
  },
});

/** The key of a budget of an agent that is named instead of its id: `agent:main`. */
async function keyNamed(call: Asking, key: string): Promise<string> {
  const [, scope, name] = OF_AGENT.exec(key) ?? [];
  if (scope === undefined || name === undefined || isAgentId(name)) return key;
  return `${scope}:${(await requireAgent(call, name)).id}`;
}

export const spendRoutes: readonly Route[] = [usageRoute, daysRoute, budgetsRoute, liftRoute];
