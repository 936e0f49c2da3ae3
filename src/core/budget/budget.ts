/**
 * Budgets (L8, M21): per agent, per tree of agents, per person and per day, in tokens and in dollars. Pure. Before a model
 * call its greatest cost is reserved on every row it counts towards; the result replaces the reservation. A call starts only
 * if its greatest cost fits into the part that is neither spent nor reserved. So no call that costs at most its reservation
 * can exceed a limit.
 */
import type { AgentRecord } from "../agent/agent.ts";
import { defined } from "../defined.ts";
import type { Usage } from "../history/entry.ts";

/** Money is counted in millionths of a dollar, so that sums are exact. */
export interface Spend {
  readonly tokens: number;
  readonly micros: number;
}

/** An absent unit is not limited. */
export interface Limit {
  readonly tokens?: number;
  readonly micros?: number;
}

export const BUDGET_SCOPES = ["agent", "tree", "person", "day"] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];
export type Limits = Readonly<Partial<Record<BudgetScope, Limit>>>;

/** What the installation allows to spend. */
export interface Budgets {
  /** The limits of an agent's calls. Empty: the agent is not limited and nothing is reserved. */
  limitsFor(agent: AgentRecord): Limits;
  /** The calendar day in the installation's time zone, `2026-01-31`. */
  dayOf(at: number): string;
  /** One name for a person with several accounts. Default: `connector:id`. */
  personNamed?(connector: string, id: string): string;
}

/** One row that calls count towards. */
export interface BudgetRow {
  readonly spent: Spend;
  readonly reserved: Spend;
  /** What a person allowed beyond the limit. */
  readonly lifted: Spend;
  /** The part of `spent` that no provider counted: calls with an unknown result, charged with their reservation. */
  readonly estimated: Spend;
}

/** A row as the store lists it. */
export interface BudgetRecord extends BudgetRow {
  readonly key: string;
  /** When it last changed. */
  readonly at: number;
}

/** What a call under way may cost, until its result is known. */
export interface Reservation {
  readonly id: string;
  readonly runId: string;
  readonly keys: readonly string[];
  readonly cost: Spend;
  readonly at: number;
}

export const NOTHING: Spend = { tokens: 0, micros: 0 };
export const FRESH_ROW: BudgetRow = { spent: NOTHING, reserved: NOTHING, lifted: NOTHING, estimated: NOTHING };

export const addSpend = (one: Spend, other: Spend): Spend => ({
  tokens: one.tokens + other.tokens,
  micros: one.micros + other.micros,
});

const MICROS = 1_000_000;

/** Rounded up, except for the error of a sum of fractions. */
export const microsOf = (dollars: number): number => Math.max(0, Math.ceil(dollars * MICROS - 1e-6));

/** What a call counts for. `day` is the calendar day in the installation's time zone, `2026-01-31`. */
export interface Spender {
  readonly agentId: string;
  /** The agent at the top of this one's tree; itself if no agent started it. */
  readonly rootId: string;
  readonly person?: string;
  readonly day: string;
}

/** A row a call counts towards, and what limits it. */
export interface LimitedRow {
  readonly key: string;
  readonly limit: Limit;
}

/** The row of each scope that has a limit. The keys of a person and of the day contain the date, so they start fresh daily. */
export function limitedRows(limits: Limits, { agentId, rootId, person, day }: Spender): readonly LimitedRow[] {
  const keys: Readonly<Record<BudgetScope, string | undefined>> = {
    agent: `agent:${agentId}`,
    tree: `tree:${rootId}`,
    person: person === undefined ? undefined : `person:${day}:${person}`,
    day: `day:${day}`,
  };
  return BUDGET_SCOPES.flatMap((scope) => {
    const limit = limits[scope];
    const key = keys[scope];
    return key === undefined || (limit?.tokens === undefined && limit?.micros === undefined) ? [] : [{ key, limit }];
  });
}

export const scopeOf = (key: string): BudgetScope | undefined =>
  BUDGET_SCOPES.find((scope) => key.startsWith(`${scope}:`));

export const limitedScopes = (limits: Limits): readonly BudgetScope[] =>
  BUDGET_SCOPES.filter((scope) => limits[scope]?.tokens !== undefined || limits[scope]?.micros !== undefined);

/** The actual cost of a call, as the provider counted it. */
export const spendOf = (usage: Usage): Spend => ({
  tokens: usage.totalTokens,
  micros: microsOf(usage.cost?.total ?? 0),
});

/** A limit with what a person allowed beyond it. A unit without a limit stays absent. */
export const allowedOf = ({ tokens, micros }: Limit, lifted: Spend): Limit =>
  defined({
    tokens: tokens === undefined ? undefined : tokens + lifted.tokens,
    micros: micros === undefined ? undefined : micros + lifted.micros,
  });

export const reserve = (row: BudgetRow, cost: Spend): BudgetRow => ({ ...row, reserved: addSpend(row.reserved, cost) });

/**
 * The result replaces the reservation. A call with an unknown result is charged with its reservation. A charge that no
 * provider counted is also added to the estimate.
 */
export function settle(row: BudgetRow, reserved: Spend, actual: Spend | "unknown", estimated = false): BudgetRow {
  const charged = actual === "unknown" ? reserved : actual;
  return {
    ...row,
    spent: addSpend(row.spent, charged),
    reserved: { tokens: row.reserved.tokens - reserved.tokens, micros: row.reserved.micros - reserved.micros },
    estimated: actual === "unknown" || estimated ? addSpend(row.estimated, charged) : row.estimated,
  };
}

/** Adds what was used without a reservation. */
export const charge = (row: BudgetRow, spent: Spend): BudgetRow => ({ ...row, spent: addSpend(row.spent, spent) });

/** A person allows more. The next time the budget is used up it is announced again. */
export const lift = (row: BudgetRow, more: Spend): BudgetRow => ({ ...row, lifted: addSpend(row.lifted, more) });

const WHOSE: Readonly<Record<BudgetScope, string>> = {
  agent: "of this agent",
  tree: "of this agent and all it started",
  person: "of this person for today",
  day: "for today",
};

/** The text that announces a budget that is used up. */
export function reachedText(key: string, { tokens, micros }: Limit, spent: Spend, needed: Spend): string {
  const scope = scopeOf(key) ?? "agent";
  const inMoney = micros !== undefined && spent.micros + needed.micros > micros;
  const [limit, used] = inMoney ? [dollars(micros), dollars(spent.micros)] : [`${tokens} tokens`, `${spent.tokens}`];
  const amount = inMoney ? spent.micros < micros : tokens !== undefined && spent.tokens < tokens;
  const state = amount ? "is nearly used up, and the next call does not fit" : "is used up";
  return `The budget ${WHOSE[scope]} ${state}: ${used} of ${limit}. \`rookery budget lift\` allows more, budgets.${scope} in the configuration raises it.`;
}

const dollars = (micros: number): string => `$${(micros / MICROS).toFixed(micros < 100_000 ? 4 : 2)}`;

/** The configuration's limits, in the units that are counted. */
export function limitsOf(
  budgets: Readonly<Partial<Record<BudgetScope, { readonly tokens?: number; readonly dollars?: number } | undefined>>>,
): Limits {
  const limits: Partial<Record<BudgetScope, Limit>> = {};
  for (const scope of BUDGET_SCOPES) {
    const said = budgets[scope];
    if (!said) continue;
    const { tokens, dollars } = said;
    limits[scope] = defined({ tokens, micros: dollars === undefined ? undefined : microsOf(dollars) });
  }
  return limits;
}
