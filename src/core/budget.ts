/**
 * What may be spent, decided before each call of a model (L8, M21). Pure arithmetic: a call reserves the most it can cost
 * on every row it counts towards, its result replaces the reservation. A call starts only while what is spent and what
 * is reserved stay below the limit, so that a budget is passed by the calls in flight and never by a new one.
 */
import type { Usage } from "./entry.ts";

/** Money is counted in millionths of a dollar, so that sums are exact. */
export interface Spend {
  readonly tokens: number;
  readonly micros: number;
}

/** What has no limit is not limited. */
export interface Limit {
  readonly tokens?: number;
  readonly micros?: number;
}

export const BUDGET_SCOPES = ["agent", "tree", "person", "day"] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];
export type Limits = Readonly<Partial<Record<BudgetScope, Limit>>>;

/** One row that calls count towards. */
export interface BudgetRow {
  readonly spent: Spend;
  readonly reserved: Spend;
  /** What a person allowed beyond the limit. */
  readonly lifted: Spend;
  /** Whether the person was told that it is used up, since it was last lifted. */
  readonly told: boolean;
}

export const NOTHING: Spend = { tokens: 0, micros: 0 };
export const FRESH_ROW: BudgetRow = { spent: NOTHING, reserved: NOTHING, lifted: NOTHING, told: false };

export const addSpend = (one: Spend, other: Spend): Spend => ({
  tokens: one.tokens + other.tokens,
  micros: one.micros + other.micros,
});

const MICROS = 1_000_000;
const CHARS_PER_TOKEN = 3;
const IMAGE_TOKENS = 1_600;

export const microsOf = (dollars: number): number => Math.ceil(dollars * MICROS);

/** Who a call counts for. `day` is the calendar day as the installation sees it, `2026-01-31`. */
export interface Spender {
  readonly agentId: string;
  /** The agent at the top of the tree this one was started in; itself where nobody started it. */
  readonly rootId: string;
  readonly person?: string;
  readonly day: string;
}

/** The row of each scope that has a limit. A person's and the day's begin anew each day by having another key. */
export function budgetKeys(
  limits: Limits,
  { agentId, rootId, person, day }: Spender,
): ReadonlyMap<BudgetScope, string> {
  const keys: Readonly<Record<BudgetScope, string | undefined>> = {
    agent: `agent:${agentId}`,
    tree: `tree:${rootId}`,
    person: person === undefined ? undefined : `person:${day}:${person}`,
    day: `day:${day}`,
  };
  const limited = BUDGET_SCOPES.filter(
    (scope) => limits[scope]?.tokens !== undefined || limits[scope]?.micros !== undefined,
  );
  return new Map(limited.flatMap((scope) => (keys[scope] === undefined ? [] : [[scope, keys[scope]] as const])));
}

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A prompt's size on the high side: a reservation that is too small would let a budget be passed. */
export function estimatePromptTokens(prompt: {
  readonly system: string;
  readonly messages: readonly { readonly content: readonly { readonly type: string }[] }[];
  readonly tools: readonly unknown[];
}): number {
  let chars = prompt.system.length + (prompt.tools.length > 0 ? JSON.stringify(prompt.tools).length : 0);
  let images = 0;
  for (const { content } of prompt.messages) {
    for (const block of content) {
      if (block.type === "image") images += 1;
      else chars += JSON.stringify(block).length;
    }
  }
  return Math.ceil(chars / CHARS_PER_TOKEN) + images * IMAGE_TOKENS;
}

/** The most one call can cost: the whole prompt read at its dearest, and an answer of full length. */
export function greatestCost(
  promptTokens: number,
  model: { readonly contextWindow: number; readonly maxTokens: number; readonly cost: Price },
): Spend {
  const read = Math.min(promptTokens, model.contextWindow);
  const dearest = Math.max(model.cost.input, model.cost.cacheWrite, model.cost.cacheRead);
  return {
    tokens: read + model.maxTokens,
    // Dollars for a million tokens are millionths of a dollar for one.
    micros: Math.ceil(read * dearest + model.maxTokens * model.cost.output),
  };
}

/** What a call did cost, as the provider counted it. */
export const spendOf = (usage: Usage): Spend => ({
  tokens: usage.totalTokens,
  micros: microsOf(usage.cost?.total ?? 0),
});

export type BudgetDecision =
  | { readonly kind: "go" }
  /** Only calls in flight stand in the way; their results may make room. */
  | { readonly kind: "wait"; readonly scope: BudgetScope }
  | { readonly kind: "reached"; readonly scope: BudgetScope; readonly tell: boolean; readonly text: string };

/** Whether a call may start. A scope that is used up counts before one that is only waiting. */
export function decideBudget(rows: ReadonlyMap<BudgetScope, BudgetRow>, limits: Limits): BudgetDecision {
  let waiting: BudgetScope | undefined;
  for (const scope of BUDGET_SCOPES) {
    const row = rows.get(scope);
    const limit = limits[scope];
    if (!row || !limit) continue;
    const allowed = liftedLimit(limit, row.lifted);
    if (atLimit(row.spent, allowed)) {
      return { kind: "reached", scope, tell: !row.told, text: reachedText(scope, allowed, row.spent) };
    }
    if (atLimit(addSpend(row.spent, row.reserved), allowed)) waiting ??= scope;
  }
  return waiting ? { kind: "wait", scope: waiting } : { kind: "go" };
}

const atLimit = (spend: Spend, { tokens, micros }: Limit): boolean =>
  (tokens !== undefined && spend.tokens >= tokens) || (micros !== undefined && spend.micros >= micros);

const liftedLimit = ({ tokens, micros }: Limit, lifted: Spend): Limit => ({
  ...(tokens === undefined ? {} : { tokens: tokens + lifted.tokens }),
  ...(micros === undefined ? {} : { micros: micros + lifted.micros }),
});

export const reserve = (row: BudgetRow, cost: Spend): BudgetRow => ({ ...row, reserved: addSpend(row.reserved, cost) });

/** The result replaces the reservation. A call nobody knows the result of is charged what was reserved. */
export function settle(row: BudgetRow, reserved: Spend, actual: Spend | "unknown"): BudgetRow {
  return {
    ...row,
    spent: addSpend(row.spent, actual === "unknown" ? reserved : actual),
    reserved: { tokens: row.reserved.tokens - reserved.tokens, micros: row.reserved.micros - reserved.micros },
  };
}

/** A person allows as much again; they will be told again when that is used up. */
export const lift = (row: BudgetRow, limit: Limit): BudgetRow => ({
  ...row,
  lifted: addSpend(row.lifted, { tokens: limit.tokens ?? 0, micros: limit.micros ?? 0 }),
  told: false,
});

const WHOSE: Readonly<Record<BudgetScope, string>> = {
  agent: "of this agent",
  tree: "of this agent and all it started",
  person: "of this person for today",
  day: "for today",
};

function reachedText(scope: BudgetScope, { tokens, micros }: Limit, spent: Spend): string {
  const [limit, used] =
    micros !== undefined && spent.micros >= micros
      ? [dollars(micros), dollars(spent.micros)]
      : [`${tokens} tokens`, `${spent.tokens}`];
  return `The budget ${WHOSE[scope]} is used up: ${used} of ${limit}. It can be lifted, or raised in budgets.${scope}.`;
}

const dollars = (micros: number): string => `$${(micros / MICROS).toFixed(2)}`;

/** The configuration's limits, in the units that are counted. */
export function limitsOf(
  budgets: Readonly<Partial<Record<BudgetScope, { readonly tokens?: number; readonly dollars?: number } | undefined>>>,
): Limits {
  const limits: Partial<Record<BudgetScope, Limit>> = {};
  for (const scope of BUDGET_SCOPES) {
    const said = budgets[scope];
    if (!said) continue;
    limits[scope] = {
      ...(said.tokens === undefined ? {} : { tokens: said.tokens }),
      ...(said.dollars === undefined ? {} : { micros: microsOf(said.dollars) }),
    };
  }
  return limits;
}
