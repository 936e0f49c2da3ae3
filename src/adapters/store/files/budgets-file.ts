/**
 * `budgets.json`: what was spent, reserved and lifted, and which agents were notified, so that a rebuilt database does not
 * allow the same spending again. Reservations belong to runs that end `lost`; they are charged when those runs end.
 */
import type { BudgetRecord, Reservation } from "../../../core/budget/budget.ts";
import type { ToldRow } from "../rows.ts";
import { allTold, readBudgets, readReservations } from "../sqlite/budgets.ts";
import type { Database } from "../sqlite/database.ts";

export const NO_BUDGETS = { version: 1, budgets: [], reservations: [], told: [] };

export const budgetsFile = (
  budgets: readonly BudgetRecord[],
  reservations: readonly Reservation[],
  told: readonly ToldRow[],
): object => ({ version: 1, budgets, reservations, told: told.map(({ key, agent }) => ({ key, agent })) });

/** The content of the file, or undefined if there is no budget. */
export function budgetsIn(db: Database): object | undefined {
  if (readBudgets(db, "", 1).length === 0) return undefined;
  return budgetsFile(readBudgets(db, "", -1), readReservations(db, -1), allTold(db));
}
