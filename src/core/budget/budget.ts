/**
 * Budgets (L8, M21): per agent, tree of agents, profile, person, API token and day, in tokens, dollars and messages. Pure. Before a model
 * call its greatest cost is reserved on every row it counts towards; the result replaces the reservation. A call starts only
 * if its greatest cost fits into the part that is neither spent nor reserved. So no call that costs at most its reservation
 * can exceed a limit.
 */
import type { AgentRecord } from "../agent/agent.ts";
import { defined } from "../defined.ts";
import type { Usage } from "../history/entry.ts";
import type { DayLimit } from "../people/behalf.ts";
import { CROWD_LIMIT } from "../people/crowd.ts";
import type { PersonId } from "../people/person.ts";

/** Money is counted in millionths of a dollar, so that sums are exact. */
export interface Spend {
  readonly tokens: number;
  readonly micros: number;
}

/** An absent unit is not limited. */
export interface Limit {
  readonly tokens?: number;
  readonly micros?: number;
  /** Messages of people in one day. */
  readonly messages?: number;
}

/** What the configuration limits. */
export const CONFIGURED_SCOPES = ["agent", "tree", "profile", "person", "day"] as const;
type ConfiguredScope = (typeof CONFIGURED_SCOPES)[number];
export type Limits = Readonly<Partial<Record<ConfiguredScope, Limit>>>;

/** The rows: those of the configuration, of API tokens, and the counts of messages. */
export const BUDGET_SCOPES = [...CONFIGURED_SCOPES, "token", "messages"] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** What the installation allows to spend. */
export interface Budgets {
  /** The limits of an agent's calls. Empty: the agent is not limited and nothing is reserved. */
  limitsFor(agent: AgentRecord): Limits;
  /** The calendar day in the installation's time zone, `2026-01-31`. */
  dayOf(at: number): string;
  /** Whose spending it is now, and what that person's record allows in a day. */
  personNow?(person: PersonId): Promise<{ readonly id: PersonId; readonly limit?: Limit }>;
  /** One name for a person with several accounts. Default: `connector:id`. Of runs that name no one (`behalf`). */
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
  readonly profile: string;
  readonly person?: string;
  readonly day: string;
  /** The limits that came with the request. */
  readonly limits?: readonly DayLimit[];
  /** How many messages of people the run has taken that are not counted yet. */
  readonly messages?: number;
}

/** A row a call counts towards, and what limits it. */
export interface LimitedRow {
  readonly key: string;
  readonly limit: Limit;
  /** The row counts messages, as tokens: this many are added if the call may start. The cost of the call is not. */
  readonly adds?: number;
}

/** Keys of one day contain the date, so they start fresh daily. */
const keyOf = (scope: Exclude<BudgetScope, "messages">, who: string, day: string): string =>
  scope === "agent" || scope === "tree" ? `${scope}:${who}` : [scope, day, who].filter((part) => part !== "").join(":");

/** The key of a token's or a person's row. */
export const dayKey = ({ of, id }: Pick<DayLimit, "of" | "id">, day: string): string => keyOf(of, id, day);

/** The key of the row that counts the messages of a token or a person. */
export const messagesKey = ({ of, id }: Pick<DayLimit, "of" | "id">, day: string): string =>
  `messages:${day}:${of}:${id}`;

/** The row of each scope that has a limit. If two limits have the same row, the stricter one counts. */
export function limitedRows(limits: Limits, spender: Spender): readonly LimitedRow[] {
  const { agentId, rootId, profile, person, day, messages = 0 } = spender;
  const who: Readonly<Record<ConfiguredScope, string | undefined>> = {
    agent: agentId,
    tree: rootId,
    profile,
    person,
    day: "",
  };
  const named = [
    ...CONFIGURED_SCOPES.map((scope) => ({ scope, id: who[scope], limit: limits[scope] ?? {} })),
    ...(spender.limits ?? []).map(({ of, id, ...limit }) => ({ scope: of, id, limit })),
  ];
  const rows = new Map<string, LimitedRow>();
  const add = (key: string, limit: Limit, adds?: number): void => {
    rows.set(key, { key, limit: stricter(limit, rows.get(key)?.limit), adds });
  };
  for (const { scope, id, limit } of named) {
    if (id === undefined) continue;
    const { tokens, micros } = limit;
    if (tokens !== undefined || micros !== undefined) add(keyOf(scope, id, day), defined({ tokens, micros }));
    if (messages > 0 && limit.messages !== undefined) {
      const key = ["messages", day, scope, id].filter((part) => part !== "").join(":");
      add(key, { tokens: limit.messages }, messages);
    }
  }
  return [...rows.values()];
}

const least = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other);

const stricter = (one: Limit, other: Limit = {}): Limit =>
  defined({ tokens: least(one.tokens, other.tokens), micros: least(one.micros, other.micros) });

export const scopeOf = (key: string): BudgetScope | undefined =>
  BUDGET_SCOPES.find((scope) => key.startsWith(`${scope}:`));

export const isLimited = (limit: Limit | undefined): boolean =>
  limit?.tokens !== undefined || limit?.micros !== undefined || limit?.messages !== undefined;

export const limitedScopes = (limits: Limits): readonly ConfiguredScope[] =>
  CONFIGURED_SCOPES.filter((scope) => isLimited(limits[scope]));

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

/** Whose a row is, for sentences: `of ann for today`. */
function whose(key: string): string {
  const scope = scopeOf(key) ?? "agent";
  const [, second = "", ...rest] = key.split(":");
  switch (scope) {
    case "agent":
      return "of this agent";
    case "tree":
      return "of this agent and all it started";
    case "profile":
      return `of the profile ${rest.join(":")} for today`;
    case "person":
      return `of ${rest.join(":")} for today`;
    case "token":
      return `of the token ${rest.join(":")} for today`;
    case "day":
      return "for today";
    case "messages": {
      const of = rest[0] === "agent" ? "of this agent for today" : whose([rest[0], second, ...rest.slice(1)].join(":"));
      return `of messages ${of}`;
    }
  }
}

/** Whether a row stands for limits that could not be kept. */
export const isCrowd = (key: string): boolean => scopeOf(key) === "token" && key.endsWith(`:${CROWD_LIMIT.id}`);

/** The text that says that a budget is used up, and how to get more. */
export function reachedText(key: string, { tokens, micros }: Limit, spent: Spend, needed: Spend): string {
  if (isCrowd(key)) {
    return `This work counts for more limits of tokens and people than can be kept, so it may not start: send it again in smaller parts. For today the owner can let it start: rookery usage lift ${key} --tokens N`;
  }
  const unit = scopeOf(key) === "messages" ? "messages" : "tokens";
  const inMoney = micros !== undefined && spent.micros + needed.micros > micros;
  const [limit, used] = inMoney
    ? [dollars(micros), dollars(spent.micros)]
    : [`${grouped(tokens ?? 0)} ${unit}`, grouped(spent.tokens)];
  const amount = inMoney ? spent.micros < micros : tokens !== undefined && spent.tokens < tokens;
  const state = amount ? "is nearly used up, and the next call does not fit" : "is used up";
  const flag = inMoney ? "dollars" : unit;
  const scope = scopeOf(key) ?? "agent";
  // The limits of people and tokens may come from their records.
  const raise = ["agent", "tree", "profile", "day"].includes(scope)
    ? `, or raise budgets.${scope} in the configuration`
    : "";
  return `The budget ${whose(key)} ${state}: ${used} of ${limit}. The owner can lift it: rookery usage lift ${key} --${flag} N${raise}`;
}

/** 100000 as 100,000. */
const grouped = (number: number): string => number.toLocaleString("en-US");

const dollars = (micros: number): string => `$${(micros / MICROS).toFixed(micros < 100_000 ? 4 : 2)}`;

/** A limit as people write it. */
interface SaidLimit {
  readonly tokens?: number;
  readonly dollars?: number;
  readonly messages?: number;
}

export const limitOf = ({ tokens, dollars, messages }: SaidLimit): Limit =>
  defined({ tokens, micros: dollars === undefined ? undefined : microsOf(dollars), messages });

/** The configuration's limits, in the units that are counted. */
export function limitsOf(budgets: Readonly<Partial<Record<ConfiguredScope, SaidLimit | undefined>>>): Limits {
  const limits: Partial<Record<ConfiguredScope, Limit>> = {};
  for (const scope of CONFIGURED_SCOPES) {
    const said = budgets[scope];
    if (said) limits[scope] = limitOf(said);
  }
  return limits;
}
