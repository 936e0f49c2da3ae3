/** Budgets and reservations as the database keeps them. */
import type { BudgetRecord, Reservation, Spend } from "../../../core/budget/budget.ts";
import type { RunUsage } from "../../../core/store/store.ts";

type Row = Readonly<Record<string, unknown>>;

export function budgetOf(row: Row): BudgetRecord {
  const spend = (name: string): Spend => ({
    tokens: row[`${name}_tokens`] as number,
    micros: row[`${name}_micros`] as number,
  });
  return {
    key: row.key as string,
    spent: spend("spent"),
    reserved: spend("reserved"),
    lifted: spend("lifted"),
    estimated: spend("estimated"),
    at: row.at as number,
  };
}

export const reservationOf = (row: Row): Reservation => ({
  id: row.id as string,
  runId: row.run_id as string,
  keys: JSON.parse(row.keys as string) as string[],
  cost: { tokens: row.tokens as number, micros: row.micros as number },
  at: row.at as number,
});

export const usageOf = (row: Row): RunUsage => ({
  agentId: row.agent_id as RunUsage["agentId"],
  ...(row.person === null ? {} : { person: row.person as string }),
  runs: row.runs as number,
  tokens: row.tokens as number,
  cost: row.cost as number,
});
