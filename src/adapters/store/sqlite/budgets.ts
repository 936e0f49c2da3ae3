/**
 * The tables `budgets`, `reservations` and `budget_told`. The decision and the reservation are one transaction, so that two
 * calls cannot reserve the same money (L8).
 */
import {
  type BudgetRow as Budget,
  type BudgetRecord,
  charge,
  FRESH_ROW,
  lift,
  type Reservation,
  reserve,
  type Spend,
  settle,
} from "../../../core/budget/budget.ts";
import { costOf, decideBudget } from "../../../core/budget/budget-decision.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { type BudgetRow, budgetOf, type ReservationRow, reservationOf, type ToldRow } from "../rows.ts";
import { type Applying, ownerOf } from "./agent-cache.ts";
import type { Database } from "./database.ts";
import { amendRun } from "./runs.ts";

const SELECT = "SELECT * FROM budgets WHERE key = ?";
const SELECT_PAGE = "SELECT * FROM budgets WHERE key > ? ORDER BY key LIMIT ?";
const SELECT_PAST = `SELECT key FROM budgets
WHERE (key >= 'day:' AND key < 'day;' OR key >= 'person:' AND key < 'person;' OR key >= 'quota:' AND key < 'quota;'
  OR key >= 'token:' AND key < 'token;' OR key >= 'profile:' AND key < 'profile;' OR key >= 'messages:' AND key < 'messages;')
  AND at < ? AND reserved_tokens = 0 AND reserved_micros = 0`;
const PUT = `INSERT INTO budgets (
  key, spent_tokens, spent_micros, reserved_tokens, reserved_micros,
  lifted_tokens, lifted_micros, estimated_tokens, estimated_micros, at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
  spent_tokens = excluded.spent_tokens,
  spent_micros = excluded.spent_micros,
  reserved_tokens = excluded.reserved_tokens,
  reserved_micros = excluded.reserved_micros,
  lifted_tokens = excluded.lifted_tokens,
  lifted_micros = excluded.lifted_micros,
  estimated_tokens = excluded.estimated_tokens,
  estimated_micros = excluded.estimated_micros,
  at = excluded.at`;
const DELETE = "DELETE FROM budgets WHERE key = ?";
const SELECT_RESERVATION = "SELECT * FROM reservations WHERE id = ?";
const SELECT_RESERVATIONS = "SELECT * FROM reservations ORDER BY at, id LIMIT ?";
const SELECT_RESERVATIONS_OF_RUN = "SELECT * FROM reservations WHERE run_id = ? ORDER BY id";
const SELECT_RESERVATIONS_BEFORE = "SELECT * FROM reservations WHERE at < ? ORDER BY id";
const INSERT_RESERVATION = "INSERT INTO reservations (id, run_id, keys, tokens, micros, at) VALUES (?, ?, ?, ?, ?, ?)";
const DELETE_RESERVATION = "DELETE FROM reservations WHERE id = ?";
const SELECT_TOLD = "SELECT 1 AS told FROM budget_told WHERE key = ? AND agent = ?";
const SELECT_ALL_TOLD = "SELECT key, agent FROM budget_told ORDER BY key, agent";
const INSERT_TOLD = "INSERT INTO budget_told (key, agent) VALUES (?, ?) ON CONFLICT (key, agent) DO NOTHING";
const DELETE_TOLD = "DELETE FROM budget_told WHERE key = ?";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export const budgetReads = (db: Database): Pick<StoreReader, "budget" | "budgets" | "reservations"> => ({
  budget: async (key) => readBudget(db, key),
  budgets: async ({ after = "", limit }) => readBudgets(db, after, limit),
  reservations: async ({ limit }) => readReservations(db, limit),
});

function readBudget(db: Database, key: string): BudgetRecord | undefined {
  const row = db.get<BudgetRow>(SELECT, key);
  return row && budgetOf(row);
}

/** By key. A negative limit returns all; likewise below. */
export const readBudgets = (db: Database, after: string, limit: number): BudgetRecord[] =>
  db.all<BudgetRow>(SELECT_PAGE, after, limit).map(budgetOf);

export const readReservations = (db: Database, limit: number): Reservation[] =>
  db.all<ReservationRow>(SELECT_RESERVATIONS, limit).map(reservationOf);

export const allTold = (db: Database): ToldRow[] => db.all(SELECT_ALL_TOLD);

export function writeBudget(
  db: Database,
  key: string,
  { spent, reserved, lifted, estimated }: Budget,
  at: number,
): void {
  const numbers = [spent, reserved, lifted, estimated].flatMap(({ tokens, micros }) => [tokens, micros]);
  db.run(PUT, key, ...numbers, at);
}

export function insertReservation(db: Database, { id, runId, keys, cost, at }: Reservation): void {
  db.run(INSERT_RESERVATION, id, runId, JSON.stringify(keys), cost.tokens, cost.micros, at);
}

export function insertTold(db: Database, { key, agent }: ToldRow): void {
  db.run(INSERT_TOLD, key, agent);
}

export function reserveBudget(applying: Applying, op: OpOf<"budget.reserve">): OpResult {
  const { db, change } = applying;
  const agentId = ownerOf(applying).id;
  const before = readReservation(db, op.id);
  if (before) {
    const maxTokens = before.cost.tokens - op.call.prompt;
    return { op: "budget.reserve", decision: { kind: "go", reserved: before.cost, maxTokens }, told: false };
  }
  const rows = op.rows.map((limited) => ({ ...limited, row: budgetRow(db, limited.key) }));
  const decision = decideBudget(op.call, rows);
  if (decision.kind === "reached") {
    const told = db.get(SELECT_TOLD, decision.key, agentId) !== undefined;
    return { op: "budget.reserve", decision, told };
  }
  if (decision.kind === "go") {
    const cost = costOf(op.call, decision.maxTokens);
    const spending = rows.filter(({ adds }) => adds === undefined);
    for (const { key, row } of spending) putBudget(applying, key, reserve(row, cost));
    for (const { key, row, adds = 0 } of rows.filter(({ adds }) => adds !== undefined)) {
      putBudget(applying, key, charge(row, { tokens: adds, micros: 0 }));
    }
    insertReservation(db, { id: op.id, runId: op.runId, keys: spending.map(({ key }) => key), cost, at: change.at });
    if (op.counted) amendRun(applying, { op: "run.amend", runId: op.runId, body: op.counted });
  }
  return { op: "budget.reserve", decision, told: false };
}

export function settleBudget(applying: Applying, op: OpOf<"budget.settle">): undefined {
  const reservation = readReservation(applying.db, op.id);
  if (reservation) settleReservation(applying, reservation, op.actual, op.estimated);
}

export function forfeitBudget(applying: Applying, op: OpOf<"budget.forfeit">): OpResult {
  const left = applying.db.all<ReservationRow>(SELECT_RESERVATIONS_OF_RUN, op.runId).map(reservationOf);
  for (const reservation of left) settleReservation(applying, reservation, "unknown");
  return { op: "budget.forfeit", charged: left.length };
}

export function toldOfBudget(applying: Applying, op: OpOf<"budget.told">): undefined {
  insertTold(applying.db, { key: op.key, agent: ownerOf(applying).id });
  applying.touched.add("budgets");
}

export function chargeBudget(applying: Applying, { key, spent }: OpOf<"budget.charge">): undefined {
  putBudget(applying, key, charge(budgetRow(applying.db, key), spent));
}

export function liftBudget(applying: Applying, op: OpOf<"budget.lift">): undefined {
  const { db } = applying;
  putBudget(applying, op.key, lift(budgetRow(db, op.key), op.more));
  db.run(DELETE_TOLD, op.key);
}

export function sweepBudgets(applying: Applying, op: OpOf<"budget.sweep">): OpResult {
  const { db } = applying;
  const left = db.all<ReservationRow>(SELECT_RESERVATIONS_BEFORE, op.reservedBefore).map(reservationOf);
  for (const reservation of left) settleReservation(applying, reservation, "unknown");
  const past = db.all<{ key: string }>(SELECT_PAST, op.rowsBefore);
  for (const { key } of past) {
    db.run(DELETE, key);
    db.run(DELETE_TOLD, key);
    applying.touched.add("budgets");
  }
  return { op: "budget.sweep", charged: left.length, removed: past.length };
}

function settleReservation(
  applying: Applying,
  { id, keys, cost }: Reservation,
  actual: Spend | "unknown",
  estimated?: boolean,
): void {
  for (const key of keys) putBudget(applying, key, settle(budgetRow(applying.db, key), cost, actual, estimated));
  applying.db.run(DELETE_RESERVATION, id);
}

function readReservation(db: Database, id: string): Reservation | undefined {
  const row = db.get<ReservationRow>(SELECT_RESERVATION, id);
  return row && reservationOf(row);
}

const budgetRow = (db: Database, key: string): Budget => readBudget(db, key) ?? FRESH_ROW;

function putBudget({ db, change, touched }: Applying, key: string, row: Budget): void {
  writeBudget(db, key, row, change.at);
  touched.add("budgets");
}
