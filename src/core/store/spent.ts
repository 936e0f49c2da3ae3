/** What was spent, as people see it: budgets with their limits, and the use of runs by agent, tree and person. */
import type { BudgetRecord, BudgetScope, Limit } from "../budget/budget.ts";
import type { AgentId } from "../ids.ts";
import type { RunUsage } from "./store.ts";

/** A budget row with its limit. */
export interface ListedBudget extends BudgetRecord {
  readonly scope: BudgetScope;
  /** Whose it is: an agent's id, a day, a day and a person. */
  readonly of: string;
  /** What the configuration allows; absent if the scope is no longer limited. */
  readonly limit?: Limit;
  /** The same with what was lifted. */
  readonly allowed?: Limit;
}

/** What runs of one agent have used for one person. `rootId`: the root of its tree. */
export interface SpentBy extends RunUsage {
  readonly rootId: AgentId;
}

/** What runs have used since a time, also without limits: in total, and by agent, tree and person. */
export interface SpentSince {
  readonly tokens: number;
  readonly dollars: number;
  readonly by: readonly SpentBy[];
}
