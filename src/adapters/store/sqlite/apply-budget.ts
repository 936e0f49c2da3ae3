/** Ops on budgets. The decision and the reservation are one transaction, so that two calls cannot share the same money (L8). */
import {
  type BudgetRow,
  FRESH_ROW,
  lift,
  type Reservation,
  reserve,
  type Spend,
  settle,
} from "../../../core/budget/budget.ts";
import { costOf, decideBudget } from "../../../core/budget/budget-decision.ts";
import type { Op, OpResult } from "../../../core/store/change.ts";
import { type Applying, ownerOf } from "./apply-change.ts";
import { budgetOf, reservationOf } from "./budget-rows.ts";
import type { Database } from "./database.ts";

type OpOf<Name extends Op["op"]> = Extract<Op, { op: Name }>;

export function reserveBudget(applying: Applying, op: OpOf<"budget.reserve">): OpResult {
  const { db, change } = applying;
  const agentId = ownerOf(applying).id;
  const before = db.statement("select-reservation").get(op.id);
  if (before) {
    const { cost } = reservationOf(before);
    const maxTokens = cost.tokens - op.call.prompt;
    return { op: "budget.reserve", decision: { kind: "go", reserved: cost, maxTokens }, told: false };
  }
  const rows = op.rows.map((limited) => ({ ...limited, row: rowOf(db, limited.key) }));
  const decision = decideBudget(op.call, rows);
  if (decision.kind === "reached") {
    const told = db.statement("select-budget-told").get(decision.key, agentId) !== undefined;
    return { op: "budget.reserve", decision, told };
  }
  if (decision.kind === "go") {
    const cost = costOf(op.call, decision.maxTokens);
    for (const { key, row } of rows) putRow(applying, key, reserve(row, cost));
    const keys = JSON.stringify(rows.map(({ key }) => key));
    db.statement("insert-reservation").run(op.id, op.runId, keys, cost.tokens, cost.micros, change.at);
  }
  return { op: "budget.reserve", decision, told: false };
}

export function settleBudget(applying: Applying, op: OpOf<"budget.settle">): undefined {
  const row = applying.db.statement("select-reservation").get(op.id);
  if (row) settleReservation(applying, reservationOf(row), op.actual, op.estimated);
}

export function forfeitBudget(applying: Applying, op: OpOf<"budget.forfeit">): OpResult {
  const left = applying.db.statement("select-reservations-of-run").all(op.runId).map(reservationOf);
  for (const reservation of left) settleReservation(applying, reservation, "unknown");
  return { op: "budget.forfeit", charged: left.length };
}

export function toldOfBudget(applying: Applying, op: OpOf<"budget.told">): undefined {
  applying.db.statement("insert-budget-told").run(op.key, ownerOf(applying).id);
  applying.touched.add("budgets");
}

export function liftBudget(applying: Applying, op: OpOf<"budget.lift">): undefined {
  const { db } = applying;
  putRow(applying, op.key, lift(rowOf(db, op.key), op.more));
  db.statement("delete-budget-told").run(op.key);
}

export function sweepBudgets(applying: Applying, op: OpOf<"budget.sweep">): OpResult {
  const { db } = applying;
  const left = db.statement("select-reservations-before").all(op.reservedBefore).map(reservationOf);
  for (const reservation of left) settleReservation(applying, reservation, "unknown");
  const past = db.statement("select-past-budgets").all(op.rowsBefore);
  for (const { key } of past) {
    db.statement("delete-budget").run(key as string);
    db.statement("delete-budget-told").run(key as string);
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
  for (const key of keys) putRow(applying, key, settle(rowOf(applying.db, key), cost, actual, estimated));
  applying.db.statement("delete-reservation").run(id);
}

function rowOf(db: Database, key: string): BudgetRow {
  const row = db.statement("select-budget").get(key);
  return row ? budgetOf(row) : FRESH_ROW;
}

function putRow({ db, change, touched }: Applying, key: string, row: BudgetRow): void {
  const { spent, reserved, lifted, estimated } = row;
  const numbers = [spent, reserved, lifted, estimated].flatMap(({ tokens, micros }) => [tokens, micros]);
  db.statement("put-budget").run(key, ...numbers, change.at);
  touched.add("budgets");
}
