/** The tables `budgets`, `reservations` and `budget_told`: reads, and how ops on them are sent. */
import type { StoreReader } from "../../../core/store/store.ts";
import { type BudgetRow, budgetOf, type ReservationRow, reservationOf, type ToldRow } from "../rows.ts";
import type { Statement } from "./batched-reads.ts";
import { clean } from "./clean-text.ts";
import type { Connections } from "./connections.ts";
import { type Lock, type OpForms, whole } from "./op-form.ts";
import { wireBody } from "./runs.ts";

const SELECT: Statement = { name: "select-budget", text: "SELECT * FROM budgets WHERE key = $1" };
const SELECT_PAGE: Statement = {
  name: "select-budgets",
  text: "SELECT * FROM budgets WHERE key > $1 ORDER BY key LIMIT $2",
};
const SELECT_RESERVATIONS: Statement = {
  name: "select-reservations",
  text: "SELECT id, run_id, to_json(keys)::text AS keys, tokens, micros, at FROM reservations ORDER BY at, id LIMIT $1",
};
const SELECT_ALL_TOLD: Statement = {
  name: "select-all-budget-told",
  text: "SELECT key, agent FROM budget_told ORDER BY key, agent",
};

export const budgetReads = (connections: Connections): Pick<StoreReader, "budget" | "budgets" | "reservations"> => ({
  budget: async (key) => {
    const row = await connections.one<BudgetRow>(SELECT, key);
    return row && budgetOf(row);
  },
  budgets: async ({ after = "", limit }) => (await connections.all<BudgetRow>(SELECT_PAGE, after, limit)).map(budgetOf),
  reservations: async ({ limit }) =>
    (await connections.all<ReservationRow>(SELECT_RESERVATIONS, limit)).map(reservationOf),
});

export const allTold = (connections: Connections): Promise<readonly ToldRow[]> => connections.all(SELECT_ALL_TOLD);

const reservationLocks = (id: string): readonly Lock[] => [
  ["names", `reservation ${clean(id)}`],
  ["reservations", clean(id)],
];

const budgetLock = ({ key }: { readonly key: string }): readonly Lock[] => [["budgets", clean(key)]];

type BudgetOps =
  | "budget.reserve"
  | "budget.settle"
  | "budget.forfeit"
  | "budget.told"
  | "budget.charge"
  | "budget.lift"
  | "budget.sweep";

export const budgetOps: OpForms<BudgetOps> = {
  "budget.reserve": {
    byOwner: true,
    wire: ({ id, runId, call, rows, counted }) => ({
      id: clean(id),
      runId: clean(runId),
      call,
      rows: rows.map(({ key, limit, adds }) => ({ key: clean(key), limit, adds })),
      counted: counted && wireBody(counted),
    }),
    locks: ({ id, rows }) => [...reservationLocks(id), ...rows.flatMap(budgetLock)],
  },
  "budget.settle": {
    wire: ({ id, actual, estimated }) => ({
      id: clean(id),
      tokens: actual === "unknown" ? undefined : actual.tokens,
      micros: actual === "unknown" ? undefined : actual.micros,
      estimated,
    }),
    locks: ({ id }) => reservationLocks(id),
  },
  "budget.forfeit": {
    wire: ({ runId }) => ({ runId: clean(runId) }),
    locks: ({ runId }) => [["reservations", clean(runId)]],
  },
  "budget.told": { byOwner: true, wire: ({ key }) => ({ key: clean(key) }), locks: budgetLock },
  "budget.charge": {
    wire: ({ key, spent: { tokens, micros } }) => ({ key: clean(key), tokens: whole(tokens), micros: whole(micros) }),
    locks: budgetLock,
  },
  "budget.lift": { wire: ({ key, more }) => ({ key: clean(key), ...more }), locks: budgetLock },
  "budget.sweep": {
    wire: ({ reservedBefore, rowsBefore }) => ({
      reservedBefore: whole(reservedBefore),
      rowsBefore: whole(rowsBefore),
    }),
    locks: () => [["reservations", "*"]],
  },
};
