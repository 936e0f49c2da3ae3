/** The budgets as people see them: what was spent of which limit, and how to allow more. Only lifting changes the store. */

import type { AgentRecord } from "../../core/agent/agent.ts";
import {
  allowedOf,
  BUDGET_SCOPES,
  type BudgetRecord,
  type BudgetScope,
  CONFIGURED_SCOPES,
  FRESH_ROW,
  isCrowd,
  type Limit,
  type Limits,
  lift,
  type Spend,
  scopeOf,
} from "../../core/budget/budget.ts";
import { ConflictError, InvalidInputError, NotFoundError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Ports } from "../../core/ports/ports.ts";
import type { Op } from "../../core/store/change.ts";
import type { ListedBudget, SpentBy, SpentSince } from "../../core/store/spent.ts";
import type { StoreReader } from "../../core/store/store.ts";
import { submit } from "../commit/submit.ts";
import { rootOf } from "./spender.ts";

const PORTION = 500;

/** Every row with spending or reservations, by key. `limits`: those of the configuration. */
export async function listBudgets(
  { store }: { readonly store: Pick<StoreReader, "budgets"> },
  limits: Limits,
): Promise<readonly ListedBudget[]> {
  const listed: ListedBudget[] = [];
  for (let after = ""; ; ) {
    const page = await store.budgets({ after, limit: PORTION });
    for (const record of page) {
      const scope = scopeOf(record.key);
      if (scope) listed.push(listedOf(record, scope, limits));
    }
    if (page.length < PORTION) return listed;
    after = page.at(-1)?.key ?? after;
  }
}

function listedOf(record: BudgetRecord, scope: BudgetScope, limits: Limits): ListedBudget {
  const limit = configuredLimit(record.key, limits);
  return {
    ...record,
    scope,
    of: record.key.slice(scope.length + 1),
    limit,
    allowed: limit && allowedOf(limit, record.lifted),
  };
}

/**
 * Allows more on one row: as much again as its limit, or the given amount. Agents that were stopped by it can continue at once,
 * and announce it again when that is used up too. Durable when it resolves. `also` makes ops of the result, which are
 * committed with it.
 */
export async function liftBudget(
  { store, ids, clock }: Pick<Ports, "store" | "ids" | "clock">,
  limits: Limits,
  key: string,
  more?: Limit,
  also?: (lifted: ListedBudget) => readonly Op[],
): Promise<ListedBudget> {
  const scope = scopeOf(key);
  if (!scope) {
    throw new InvalidInputError(`"${key}" is not the key of a budget.`, {
      hint: `Keys begin with ${BUDGET_SCOPES.map((one) => `${one}:`).join(", ")}. \`rookery usage budgets\` lists them.`,
    });
  }
  const amount = spendIn(more ?? configuredLimit(key, limits));
  if (!amount) {
    throw new InvalidInputError(`The configuration does not limit ${key}, so there is no amount to lift it by.`, {
      hint: "Say how much with --tokens, --dollars or --messages.",
    });
  }
  const before = await store.budget(key);
  if (!before && !(await mayBeNew(store, key))) {
    throw new NotFoundError(`Nothing was spent under ${key} yet.`, {
      hint: "`rookery usage budgets` lists the budgets.",
    });
  }
  const at = clock.now();
  const listed = listedOf({ ...lift(before ?? FRESH_ROW, amount), key, at }, scope, limits);
  const ops: Op[] = [{ op: "budget.lift", key, more: amount }, ...(also?.(listed) ?? [])];
  const result = await submit({ store, ids, clock }, "budget.lift", ops);
  if (!result.ok) throw new ConflictError(`The budget could not be lifted: ${result.detail}`);
  return listed;
}

/** Whether a row on which nothing was spent can be lifted: its first call may have been too large. Any other key may be a mistake. */
async function mayBeNew(store: Pick<Ports["store"], "agent">, key: string): Promise<boolean> {
  const scope = scopeOf(key);
  if (scope === "agent" || scope === "tree")
    return (await store.agent(key.slice(scope.length + 1) as AgentId)) !== undefined;
  return scope === "day" || isCrowd(key);
}

/** What the configuration allows on a row. A row that counts messages does so as tokens. */
function configuredLimit(key: string, limits: Limits): Limit | undefined {
  const scope = scopeOf(key);
  const isCount = scope === "messages";
  const of = isCount ? key.split(":")[2] : scope;
  const known = CONFIGURED_SCOPES.find((one) => one === of);
  const limit = known && limits[known];
  if (!isCount || !limit) return limit;
  return limit.messages === undefined ? undefined : { tokens: limit.messages };
}

function spendIn(limit: Limit | undefined): Spend | undefined {
  if (limit?.tokens === undefined && limit?.micros === undefined) return undefined;
  return { tokens: limit.tokens ?? 0, micros: limit.micros ?? 0 };
}

/** `sees`: which agents are counted; absent: all. `until`: only runs that began before it. */
export async function spentSince(
  { store }: { readonly store: Pick<StoreReader, "usageSince" | "agent"> },
  at: number,
  sees?: (agent: AgentRecord | undefined) => boolean,
  until?: number,
): Promise<SpentSince> {
  const roots = new Map<AgentId, AgentId>();
  const by: SpentBy[] = [];
  for (const usage of await store.usageSince(at, until)) {
    const { agentId } = usage;
    if (sees && !sees(await store.agent(agentId))) continue;
    const rootId = roots.get(agentId) ?? (await rootOf(store, agentId));
    roots.set(agentId, rootId);
    by.push({ ...usage, rootId });
  }
  return {
    tokens: by.reduce((sum, { tokens }) => sum + tokens, 0),
    dollars: by.reduce((sum, { cost }) => sum + cost, 0),
    by,
  };
}
