/**
 * `budgets.json`: what was spent, reserved and lifted, and who was told, so that a rebuilt database does not give all of it
 * out again. What was reserved belongs to runs that end `lost`, and is charged with their end.
 */
import { budgetOf, reservationOf } from "../sqlite/budget-rows.ts";
import type { Database } from "../sqlite/database.ts";

export const NO_BUDGETS = { version: 1, budgets: [], reservations: [], told: [] };

/** Everything the file holds; undefined where nothing was ever limited. */
export function budgetsIn(store: Pick<Database, "statement">): object | undefined {
  if (!store.statement("select-budgets").get("", 1)) return undefined;
  return {
    version: 1,
    budgets: store.statement("select-budgets").all("", -1).map(budgetOf),
    reservations: store.statement("select-reservations").all(-1).map(reservationOf),
    told: store
      .statement("select-all-budget-told")
      .all()
      .map(({ key, agent }) => ({ key, agent })),
  };
}
