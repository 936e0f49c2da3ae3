/**
 * `budgets.json`: what was spent, reserved and lifted, and who was told, so that a rebuilt database does not give all of it
 * out again. What was reserved belongs to runs that end `lost`, and is charged with their end.
 */
import type { BudgetRecord, Reservation } from "../../../core/budget/budget.ts";
import { budgetOf, reservationOf } from "../sqlite/budget-rows.ts";
import type { Database } from "../sqlite/database.ts";

export const NO_BUDGETS = { version: 1, budgets: [], reservations: [], told: [] };

interface Told {
  readonly key: unknown;
  readonly agent: unknown;
}

/** The file, of what a store says. */
export const budgetsFile = (
  budgets: readonly BudgetRecord[],
  reservations: readonly Reservation[],
  told: readonly Told[],
): object => ({ version: 1, budgets, reservations, told: told.map(({ key, agent }) => ({ key, agent })) });

/** Everything the file holds; undefined where nothing was ever limited. */
export function budgetsIn(store: Pick<Database, "statement">): object | undefined {
  if (!store.statement("select-budgets").get("", 1)) return undefined;
  return budgetsFile(
    store.statement("select-budgets").all("", -1).map(budgetOf),
    store.statement("select-reservations").all(-1).map(reservationOf),
    store.statement("select-all-budget-told").all() as unknown as readonly Told[],
  );
}
