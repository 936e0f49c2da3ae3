import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addSpend,
  type BudgetRow,
  FRESH_ROW,
  type Limit,
  lift,
  limitedRows,
  limitsOf,
  microsOf,
  NOTHING,
  reachedText,
  reserve,
  type Spend,
  settle,
  spendOf,
} from "./budget.ts";
import { type BudgetDecision, type CallCost, costOf, decideBudget } from "./budget-decision.ts";

const micros = (amount: number): Spend => ({ tokens: 0, micros: amount });
const tokens = (amount: number): Spend => ({ tokens: amount, micros: 0 });
const row = (extra: Partial<BudgetRow>): BudgetRow => ({ ...FRESH_ROW, ...extra });
const asked = (limit: Limit, one: BudgetRow, key = "tree:r") => ({ key, limit, row: one });

/** A prompt of 100 tokens at 1 micro each, an answer of up to 10,000 at 2 micros each. */
const CALL: CallCost = { prompt: 100, maxTokens: 10_000, leastTokens: 50, read: 1, write: 2 };

describe("decideBudget", () => {
  const go = (maxTokens: number): BudgetDecision => ({ kind: "go", maxTokens, reserved: costOf(CALL, maxTokens) });

  it.each<[string, Limit, Partial<BudgetRow>, unknown]>([
    ["all fits: the whole answer is reserved", { micros: 100_000 }, {}, go(10_000)],
    ["less is left: the answer is limited to what fits", { micros: 10_100 }, {}, go(5_000)],
    ["the least useful answer still fits", { micros: 200 }, {}, go(50)],
    ["not even that fits", { micros: 199 }, {}, { kind: "reached", key: "tree:r" }],
    ["all was spent", { micros: 20_100 }, { spent: micros(20_100) }, { kind: "reached", key: "tree:r" }],
    ["more than all was spent", { micros: 100 }, { spent: micros(5_000) }, { kind: "reached", key: "tree:r" }],
    [
      "other calls have reserved everything",
      { micros: 20_100 },
      { reserved: micros(20_100) },
      { kind: "wait", key: "tree:r" },
    ],
    ["other calls leave less than a useful answer", { micros: 20_100 }, { reserved: micros(15_000) }, { kind: "wait" }],
    ["other calls leave a useful answer", { micros: 20_100 }, { reserved: micros(10_000) }, go(5_000)],
    ["little is left and no other call is active", { micros: 20_100 }, { spent: micros(15_000) }, go(2_500)],
    ["the budget was lifted", { micros: 100 }, { spent: micros(100), lifted: micros(20_100) }, go(10_000)],
    [
      "the lifted amount is used up too",
      { micros: 100 },
      { spent: micros(300), lifted: micros(200) },
      { kind: "reached" },
    ],
    ["tokens are limited", { tokens: 5_100 }, {}, go(5_000)],
    ["tokens are used up and money is not", { tokens: 120, micros: 1e9 }, {}, { kind: "reached" }],
    ["tokens are reserved", { tokens: 10_000 }, { reserved: tokens(9_900) }, { kind: "wait" }],
  ])("decides if %s", (_, limit, one, decision) => {
    expect(decideBudget(CALL, [asked(limit, row(one))])).toMatchObject(decision as object);
  });

  it("reports a used-up row before one that only waits, and the tightest row first", () => {
    const waiting = asked({ micros: 20_100 }, row({ reserved: micros(20_100) }), "agent:a");
    const used = asked({ micros: 10 }, FRESH_ROW, "day:d");
    expect(decideBudget(CALL, [waiting, used])).toMatchObject({ kind: "reached", key: "day:d" });
    const wide = asked({ micros: 1_000_000 }, FRESH_ROW, "agent:a");
    const tight = asked({ tokens: 600 }, FRESH_ROW, "tree:r");
    expect(decideBudget(CALL, [wide, tight])).toMatchObject({ kind: "go", maxTokens: 500 });
  });

  it("lets a call that costs nothing pass every limit in money", () => {
    const free = { ...CALL, read: 0, write: 0 };
    const spent = row({ spent: micros(500) });
    expect(decideBudget(free, [asked({ micros: 100 }, spent)])).toMatchObject({ kind: "go", maxTokens: 10_000 });
    expect(decideBudget({ ...CALL, write: 0 }, [asked({ micros: 99 }, FRESH_ROW)])).toMatchObject({ kind: "reached" });
  });

  it("describes how much of the limit is used, and whether it is used up", () => {
    const text = (limit: Limit, spent: Spend) => reachedText("day:2026-01-31", limit, spent, costOf(CALL, 50));
    expect(text({ micros: 1_500_000 }, micros(1_510_000))).toContain("is used up: $1.51 of $1.50");
    expect(text({ micros: 1_500_000 }, micros(1_499_900))).toContain("nearly used up");
    expect(text({ tokens: 100 }, tokens(100))).toContain("100 of 100 tokens");
    expect(text({ tokens: 100 }, tokens(100))).toContain("budgets.day");
  });
});

describe("budget rows", () => {
  it("exist for the scopes that have a limit", () => {
    const spender = { agentId: "a", rootId: "r", profile: "main", person: "p", day: "2026-01-31" };
    const limits = limitsOf({ agent: { tokens: 5 }, tree: { dollars: 1 }, person: { dollars: 2 }, day: { tokens: 9 } });
    expect(limitedRows(limits, spender)).toEqual([
      { key: "agent:a", limit: { tokens: 5 } },
      { key: "tree:r", limit: { micros: 1_000_000 } },
      { key: "person:2026-01-31:p", limit: { micros: 2_000_000 } },
      { key: "day:2026-01-31", limit: { tokens: 9 } },
    ]);
    expect(limitedRows({}, spender)).toEqual([]);
    expect(limitedRows(limits, { ...spender, person: undefined })).toHaveLength(3);
  });

  it("count exactly what a provider charged", () => {
    const cost = { input: 0.001, output: 0.0000015, cacheRead: 0, cacheWrite: 0, total: 0.0010015 };
    const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost };
    expect(spendOf(usage)).toEqual({ tokens: 3, micros: 1_002 });
    expect(microsOf(0.1 + 0.2)).toBe(300_000);
    expect(microsOf(0)).toBe(0);
  });

  it("also count a charge that no provider counted as an estimate", () => {
    const reserved = reserve(FRESH_ROW, micros(30));
    expect(settle(reserved, micros(30), "unknown")).toMatchObject({ spent: micros(30), estimated: micros(30) });
    expect(settle(reserved, micros(30), micros(7), true)).toMatchObject({ spent: micros(7), estimated: micros(7) });
    expect(settle(reserved, micros(30), micros(7))).toMatchObject({ spent: micros(7), estimated: NOTHING });
    expect(lift(reserved, micros(5))).toMatchObject({ lifted: micros(5), reserved: micros(30) });
  });
});

describe("spend", () => {
  const price = fc.constantFrom(0, 0.075, 0.3, 1, 3.75, 15);
  const step = fc.record({
    prompt: fc.nat(300),
    maxTokens: fc.integer({ min: 1, max: 500 }),
    read: price,
    write: price,
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    settles: fc.boolean(),
  });

  it("never passes a limit while no call costs more than its reservation, in any order and at any price", () => {
    fc.assert(
      fc.property(
        fc.record({ tokens: fc.nat(3_000), micros: fc.nat(6_000) }),
        fc.array(step, { maxLength: 80 }),
        (limit, steps) => {
          let tree = FRESH_ROW;
          const flying: { reserved: Spend; actual: Spend | "unknown" }[] = [];
          for (const { settles, part, ...call } of steps) {
            if (settles) {
              const done = flying.shift();
              if (done) tree = settle(tree, done.reserved, done.actual);
            } else {
              const decision = decideBudget({ ...call, leastTokens: 20 }, [asked(limit, tree)]);
              if (decision.kind !== "go") continue;
              const { reserved } = decision;
              const actual = {
                tokens: Math.floor(reserved.tokens * part),
                micros: Math.floor(reserved.micros * part),
              };
              flying.push({ reserved, actual: part > 0.9 ? "unknown" : actual });
              tree = reserve(tree, reserved);
            }
            const used = addSpend(tree.spent, tree.reserved);
            expect(used.tokens).toBeLessThanOrEqual(limit.tokens);
            expect(used.micros).toBeLessThanOrEqual(limit.micros);
          }
          for (const done of flying) tree = settle(tree, done.reserved, done.actual);
          expect(tree.reserved).toEqual(NOTHING);
          expect(tree.spent.micros).toBeLessThanOrEqual(limit.micros);
        },
      ),
    );
  });

  it("does not depend on the order in which calls end", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { maxLength: 10 }), (calls) => {
        const start = calls.reduce((one, [cost]) => reserve(one, micros(cost)), FRESH_ROW);
        const end = (order: typeof calls): BudgetRow =>
          order.reduce((one, [cost, actual]) => settle(one, micros(cost), micros(actual)), start);
        expect(end(calls)).toEqual(end([...calls].reverse()));
        expect(end(calls).spent).toEqual(calls.reduce((sum, [, actual]) => addSpend(sum, micros(actual)), NOTHING));
      }),
    );
  });

  it("lets one call through at a time when two children share a nearly used-up budget", () => {
    const limit = { micros: 20_100 };
    const decide = (one: BudgetRow) => decideBudget(CALL, [asked(limit, one)]);
    const first = decide(FRESH_ROW);
    if (first.kind !== "go") throw new TypeError("the first may go");
    const held = reserve(FRESH_ROW, first.reserved);
    expect(decide(held).kind).toBe("wait");
    expect(decide(settle(held, first.reserved, micros(600))).kind).toBe("go");
    expect(decide(settle(held, first.reserved, "unknown")).kind).toBe("reached");
  });
});
