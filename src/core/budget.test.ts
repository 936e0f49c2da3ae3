import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addSpend,
  type BudgetRow,
  budgetKeys,
  decideBudget,
  estimatePromptTokens,
  FRESH_ROW,
  greatestCost,
  type Limits,
  lift,
  limitsOf,
  NOTHING,
  reserve,
  type Spend,
  settle,
  spendOf,
} from "./budget.ts";

const micros = (amount: number): Spend => ({ tokens: 0, micros: amount });
const row = (extra: Partial<BudgetRow>): BudgetRow => ({ ...FRESH_ROW, ...extra });

describe("the greatest cost of a call", () => {
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

  it("is the prompt at its dearest and an answer of full length", () => {
    expect(greatestCost(1_000, { contextWindow: 200_000, maxTokens: 8_000, cost })).toEqual({
      tokens: 9_000,
      micros: 1_000 * 3.75 + 8_000 * 15,
    });
  });

  it("reads no more than fits", () => {
    expect(greatestCost(1_000_000, { contextWindow: 8_000, maxTokens: 0, cost }).tokens).toBe(8_000);
  });

  it("covers what providers count for ordinary text", () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    const prompt = { system: "", messages: [{ content: [{ type: "text", text }] }], tools: [] };
    expect(estimatePromptTokens(prompt)).toBeGreaterThan(1_000);
  });
});

describe("a decision", () => {
  const limits: Limits = { agent: { micros: 100 }, day: { tokens: 50 } };

  it.each<[string, Partial<BudgetRow>, Partial<BudgetRow>, string]>([
    ["nothing was spent", {}, {}, "go"],
    ["something was spent", { spent: micros(99) }, {}, "go"],
    ["all was spent", { spent: micros(100) }, {}, "reached"],
    ["all is reserved", { reserved: micros(100) }, {}, "wait"],
    ["spent and reserved make all", { spent: micros(60), reserved: micros(40) }, {}, "wait"],
    ["another row is used up", {}, { spent: { tokens: 50, micros: 0 } }, "reached"],
    ["one waits and another is used up", { reserved: micros(100) }, { spent: { tokens: 50, micros: 0 } }, "reached"],
    ["it was lifted", { spent: micros(100), lifted: micros(100) }, {}, "go"],
    ["what was lifted is used up too", { spent: micros(200), lifted: micros(100) }, {}, "reached"],
  ])("where %s", (_, agent, day, kind) => {
    expect(
      decideBudget(
        new Map([
          ["agent", row(agent)],
          ["day", row(day)],
        ]),
        limits,
      ).kind,
    ).toBe(kind);
  });

  it("tells once, and again after it was lifted", () => {
    const used = row({ spent: micros(100) });
    const told = { ...used, told: true };
    const decide = (one: BudgetRow) => decideBudget(new Map([["agent", one]]), limits);
    expect(decide(used)).toMatchObject({ kind: "reached", tell: true });
    expect(decide(told)).toMatchObject({ kind: "reached", tell: false });
    const lifted = lift(told, { micros: 100 });
    expect(decide(lifted).kind).toBe("go");
    expect(decide({ ...lifted, spent: micros(200) })).toMatchObject({ kind: "reached", tell: true });
  });

  it("says how much of what was used", () => {
    const dollar: Limits = { day: { micros: 1_500_000 } };
    const decision = decideBudget(new Map([["day", row({ spent: micros(1_510_000) })]]), dollar);
    expect(decision).toMatchObject({ text: expect.stringContaining("$1.51 of $1.50") });
  });
});

describe("rows", () => {
  it("are those of the scopes that have a limit", () => {
    const spender = { agentId: "a", rootId: "r", person: "p", day: "2026-01-31" };
    const limits = limitsOf({ agent: { tokens: 5 }, tree: { dollars: 1 }, person: { dollars: 2 }, day: { tokens: 9 } });
    expect([...budgetKeys(limits, spender).values()]).toEqual([
      "agent:a",
      "tree:r",
      "person:2026-01-31:p",
      "day:2026-01-31",
    ]);
    expect([...budgetKeys({}, spender).values()]).toEqual([]);
    expect(budgetKeys(limits, { ...spender, person: undefined }).has("person")).toBe(false);
  });

  it("count exactly what a provider charged", () => {
    const cost = { input: 0.001, output: 0.0000015, cacheRead: 0, cacheWrite: 0, total: 0.0010015 };
    const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost };
    expect(spendOf(usage)).toEqual({ tokens: 3, micros: 1_002 });
  });
});

describe("spend (L8)", () => {
  /** Calls of several children at once, in any order: each starts if it may and settles some time later. */
  const step = fc.record({
    cost: fc.integer({ min: 1, max: 40 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    settles: fc.boolean(),
  });

  it("stays within the budget plus the calls in flight, whatever the order", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
        const limits: Limits = { tree: { micros: limit } };
        let tree = FRESH_ROW;
        const flying: { reserved: Spend; actual: Spend | "unknown" }[] = [];
        let greatest = 0;
        for (const { cost, part, settles } of steps) {
          if (settles) {
            const done = flying.shift();
            if (done) tree = settle(tree, done.reserved, done.actual);
          } else if (decideBudget(new Map([["tree", tree]]), limits).kind === "go") {
            greatest = Math.max(greatest, cost);
            const actual = part > 0.9 ? "unknown" : micros(Math.floor(cost * part));
            flying.push({ reserved: micros(cost), actual });
            tree = reserve(tree, micros(cost));
          }
          expect(tree.spent.micros + tree.reserved.micros).toBeLessThan(limit + greatest + 1);
        }
        for (const done of flying) tree = settle(tree, done.reserved, done.actual);
        expect(tree.reserved).toEqual(NOTHING);
        expect(tree.spent.micros).toBeLessThan(limit + greatest + 1);
      }),
    );
  });

  it("is the same in whatever order calls end", () => {
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

  it("of two children that ask at once is let through one at a time when it is nearly used up", () => {
    const limits: Limits = { tree: { micros: 100 } };
    const nearly = row({ spent: micros(95) });
    const first = reserve(nearly, micros(30));
    expect(decideBudget(new Map([["tree", nearly]]), limits).kind).toBe("go");
    expect(decideBudget(new Map([["tree", first]]), limits).kind).toBe("wait");
    expect(decideBudget(new Map([["tree", settle(first, micros(30), micros(2))]]), limits).kind).toBe("go");
    expect(decideBudget(new Map([["tree", settle(first, micros(30), "unknown")]]), limits).kind).toBe("reached");
  });
});
