/** Brings back what `budgets.json` holds. Items that cannot be used are reported and kept in a copy. */
import { z } from "zod";
import { BUDGETS_FILE } from "./layout.ts";
import { itemsOf } from "./restore-registries.ts";
import type { Restoring } from "./restoring.ts";

const amount = z.number().int();
const spend = z.object({ tokens: amount, micros: amount });
const budgetSchema = z.object({
  key: z.string().min(1),
  spent: spend,
  reserved: spend,
  lifted: spend,
  estimated: spend,
  at: amount,
});
const reservationSchema = z.object({
  id: z.string().min(1),
  runId: z.string().min(1),
  keys: z.array(z.string().min(1)),
  cost: spend,
  at: amount,
});
const toldSchema = z.object({ key: z.string().min(1), agent: z.string().min(1) });

/** Brings the rows back. Gives how many. */
export function restoreBudgets(restoring: Restoring): number {
  const { db } = restoring;
  const items = <Schema extends z.ZodType>(name: string, schema: Schema) =>
    itemsOf(restoring, BUDGETS_FILE, schema, (file) => (file as Record<string, unknown>)[name]);
  const rows = items("budgets", budgetSchema);
  for (const { key, spent, reserved, lifted, estimated, at } of rows) {
    const numbers = [spent, reserved, lifted, estimated].flatMap(({ tokens, micros }) => [tokens, micros]);
    db.statement("put-budget").run(key, ...numbers, at);
  }
  for (const { id, runId, keys, cost, at } of items("reservations", reservationSchema)) {
    db.statement("insert-reservation").run(id, runId, JSON.stringify(keys), cost.tokens, cost.micros, at);
  }
  for (const { key, agent } of items("told", toldSchema)) db.statement("insert-budget-told").run(key, agent);
  return rows.length;
}
