/** Reservations against the pure rule: a store decides each call as `decideBudget` does, and keeps its rows as core computes them (L8, M21). */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type BudgetRow,
  charge,
  FRESH_ROW,
  type Limit,
  lift,
  reserve,
  type Spend,
  settle,
} from "../../src/core/budget/budget.ts";
import { type BudgetDecision, type CallCost, decideBudget } from "../../src/core/budget/budget-decision.ts";
import type { RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { tries } from "../kit/share.ts";
import { closed, type Held, type Opener, type World, worldOn } from "./fixture.ts";

const NAMES = ["a", "b", "m"] as const;
type Name = (typeof NAMES)[number];
interface Call {
  readonly cost: CallCost;
  readonly limits: Readonly<Record<Name, Limit | undefined>>;
  /** What the row `m` counts, if it counts messages. */
  readonly adds: number | undefined;
  /** How its result is known before the next call. */
  readonly end: { readonly actual: Spend | "unknown"; readonly estimated: boolean } | undefined;
}
interface Plan {
  readonly before: readonly { readonly name: Name; readonly does: "charge" | "lift"; readonly amount: Spend }[];
  readonly calls: readonly Call[];
}

// Small numbers, so that costs often meet a limit exactly.
const spend: fc.Arbitrary<Spend> = fc.record({ tokens: fc.nat({ max: 8 }), micros: fc.nat({ max: 8 }) });
const limit: fc.Arbitrary<Limit> = fc.record(
  { tokens: fc.nat({ max: 24 }), micros: fc.nat({ max: 24 }) },
  { requiredKeys: [] },
);
const price = fc.constantFrom(0, 0.25, 1, 1.5);
const call: fc.Arbitrary<Call> = fc.record({
  cost: fc.record({
    prompt: fc.nat({ max: 4 }),
    maxTokens: fc.integer({ min: 1, max: 9 }),
    leastTokens: fc.integer({ min: 1, max: 4 }),
    read: price,
    write: price,
  }),
  limits: fc.record({ a: fc.option(limit, { nil: undefined }), b: limit, m: fc.option(limit, { nil: undefined }) }),
  adds: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  end: fc.option(fc.record({ actual: fc.oneof(spend, fc.constant("unknown" as const)), estimated: fc.boolean() }), {
    nil: undefined,
  }),
});
const plans: fc.Arbitrary<Plan> = fc.record({
  before: fc.array(
    fc.record({ name: fc.constantFrom(...NAMES), does: fc.constantFrom("charge", "lift"), amount: spend }),
    { maxLength: 3 },
  ),
  calls: fc.array(call, { minLength: 2, maxLength: 4 }),
});

export function budgetModelContract(open: Opener): void {
  test("any calls are allowed, delayed and refused as the rule says, and every row has what they cost", async () => {
    const opened = await open();
    const world = await worldOn(opened.store);
    let tried = 0;
    try {
      const held = await world.agent("a");
      await fc.assert(
        fc.asyncProperty(plans, (plan) => compare(world, held, plan, String(tried++))),
        { numRuns: tries(100), seed: 4 },
      );
    } finally {
      await closed(world, opened);
    }
  });

  test("a call waits for an answer of 4,096 tokens if others hold the rest, and for no longer one", async () => {
    const opened = await open();
    const world = await worldOn(opened.store);
    try {
      const held = await world.agent("a");
      const cost = { prompt: 0, maxTokens: 9_000, leastTokens: 1, read: 0, write: 0 };
      const one = (tokens: number, maxTokens = 9_000): Call => ({
        cost: { ...cost, maxTokens },
        limits: { a: undefined, b: { tokens }, m: undefined },
        adds: undefined,
        end: undefined,
      });
      for (const [index, left] of [4_095, 4_096, 4_097].entries()) {
        const plan: Plan = { before: [], calls: [one(100 + left, 100), one(100 + left)] };
        await compare(world, held, plan, `decent${index}`);
      }
    } finally {
      await closed(world, opened);
    }
  });
}

/** Commits the plan as one change and computes it with the functions of core. */
async function compare(world: World, held: Held, { before, calls }: Plan, id: string): Promise<void> {
  const rows = new Map<string, BudgetRow>();
  const rowOf = (key: string): BudgetRow => rows.get(key) ?? FRESH_ROW;
  const keyOf = (name: Name): string => `tree:${id}:${name}`;
  const ops: Op[] = [];
  const decisions: (BudgetDecision | undefined)[] = [];
  for (const { name, does, amount } of before) {
    const key = keyOf(name);
    ops.push(
      does === "charge" ? { op: "budget.charge", key, spent: amount } : { op: "budget.lift", key, more: amount },
    );
    decisions.push(undefined);
    rows.set(key, does === "charge" ? charge(rowOf(key), amount) : lift(rowOf(key), amount));
  }
  for (const [index, { cost, limits, adds, end }] of calls.entries()) {
    const limited = NAMES.flatMap((name) => {
      const of = limits[name];
      return of ? [{ key: keyOf(name), limit: of, adds: name === "m" ? adds : undefined }] : [];
    });
    const reservation = `${id}.${index}`;
    ops.push({ op: "budget.reserve", id: reservation, runId: "r" as RunId, call: cost, rows: limited });
    const decision = decideBudget(
      cost,
      limited.map((row) => ({ ...row, row: rowOf(row.key) })),
    );
    decisions.push(decision);
    if (decision.kind !== "go") continue;
    for (const { key, adds: counted } of limited) {
      rows.set(
        key,
        counted === undefined
          ? reserve(rowOf(key), decision.reserved)
          : charge(rowOf(key), { tokens: counted, micros: 0 }),
      );
    }
    if (!end) continue;
    ops.push({ op: "budget.settle", id: reservation, ...end });
    decisions.push(undefined);
    for (const { key, adds: counted } of limited) {
      if (counted !== undefined) continue;
      rows.set(key, settle(rowOf(key), decision.reserved, end.actual, end.estimated));
    }
  }
  const results = await world.done(ops, held.owner);
  const decided = results.map((result) => (result?.op === "budget.reserve" ? result.decision : undefined));
  expect(decided).toEqual(decisions);
  for (const [key, row] of rows) expect(await world.store.budget(key)).toMatchObject(row);
}
