/** What the configuration says about spending, as the engine asks for it. */
import type { Config } from "../../config/config-schema.ts";
import { linkedName } from "../../core/agent/identity-links.ts";
import { isOwner } from "../../core/agent/session-key.ts";
import type { Budgets } from "../../core/budget/budget.ts";
import { limitedScopes, limitsOf } from "../../core/budget/budget.ts";
import { hostZone, zonedFields, zonedInstant } from "../../core/zoned-time.ts";

const OWNER = "owner";

/** Undefined where nothing is limited: then nothing is reserved and nothing counted. */
export function openBudgets(
  config: Pick<Config, "budgets" | "session" | "owner">,
  timeZone: () => string,
): Budgets | undefined {
  const limits = limitsOf(config.budgets);
  if (limitedScopes(limits).length === 0) return undefined;
  return {
    limitsFor: () => limits,
    dayOf: (at) => dayIn(at, timeZone()),
    personNamed: (connector, userId) =>
      linkedName(config.session.identityLinks, connector, userId) ??
      (isOwner({ connector, userId }, config.owner.accounts) ? OWNER : `${connector}:${userId}`),
  };
}

/** The same, of a configuration that may be replaced while the process runs. */
export function liveBudgets(
  config: Pick<Config, "budgets" | "session" | "owner">,
  timeZone: () => string,
): () => Budgets | undefined {
  let section = config.budgets;
  let budgets = openBudgets(config, timeZone);
  return () => {
    if (config.budgets !== section) {
      section = config.budgets;
      budgets = openBudgets(config, timeZone);
    }
    return budgets;
  };
}

/** The calendar day, `2026-01-31`, in a zone. */
export function dayIn(at: number, timeZone: string): string {
  const { year, month, day } = zonedFields(at, timeZone);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)}`;
}

/** When the day began that an instant lies in. */
export function startOfDay(at: number, timeZone: string): number {
  const { year, month, day } = zonedFields(at, timeZone);
  return zonedInstant(year, month, day, 0, timeZone);
}

/** The zone in which days begin and end. */
export const zoneOf = ({ session }: Pick<Config, "session">): string => session.timeZone ?? hostZone();
