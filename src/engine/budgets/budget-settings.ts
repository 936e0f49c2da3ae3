/** Reads the budget settings of the configuration into the form the engine uses. */
import type { Config } from "../../config/config-schema.ts";
import { linkedName } from "../../core/agent/identity-links.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import { type Budgets, limitsOf } from "../../core/budget/budget.ts";
import { hostZone, zonedFields } from "../../core/zoned-time.ts";

const OWNER = "owner";

type BudgetConfig = Pick<Config, "budgets" | "session" | "owner">;

/** Where nothing is limited the engine reserves and counts nothing. */
export function budgetsOf(config: BudgetConfig): Budgets {
  const limits = limitsOf(config.budgets);
  return {
    limitsFor: () => limits,
    dayOf: (at) => dayIn(at, config.session.timeZone ?? hostZone()),
    personNamed: (connector, userId) =>
      linkedName(config.session.identityLinks, connector, userId) ??
      (isOwner({ connector, userId }, config.owner.accounts) ? OWNER : `${connector}:${userId}`),
  };
}

/** The calendar day of an instant in a zone, such as `2026-01-31`. */
export function dayIn(at: number, timeZone: string): string {
  const { year, month, day } = zonedFields(at, timeZone);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)}`;
}
