/** Rows, keys and sentences of budgets, and the decision at its boundaries: tables. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DayLimit } from "../people/behalf.ts";
import {
  allowedOf,
  BUDGET_SCOPES,
  charge,
  dayKey,
  FRESH_ROW,
  isCrowd,
  isLimited,
  type Limit,
  type Limits,
  lift,
  limitedRows,
  limitedScopes,
  limitOf,
  limitsOf,
  messagesKey,
  microsOf,
  NOTHING,
  reachedText,
  type Spender,
  scopeOf,
  spendOf,
} from "./budget.ts";
import { type CallCost, costOf, decideBudget } from "./budget-decision.ts";

const spender = (more: Partial<Spender> = {}): Spender => ({
  agentId: "a",
  rootId: "r",
  profile: "p",
  person: "ann",
  day: "D",
  ...more,
});
const all: Limits = Object.fromEntries(
  ["agent", "tree", "profile", "person", "day"].map((scope, n) => [scope, { tokens: n + 1 }]),
);

describe("the rows that a call counts towards", () => {
  test("are one for each limit, by day where the limit is for a day", () => {
    expect(limitedRows(all, spender()).map(({ key, limit }) => [key, limit.tokens])).toEqual([
      ["agent:a", 1],
      ["tree:r", 2],
      ["profile:D:p", 3],
      ["person:D:ann", 4],
      ["day:D", 5],
    ]);
    expect(limitedRows(all, spender({ person: undefined })).map(({ key }) => key)).not.toContain("person:D:ann");
    expect(limitedRows({}, spender())).toEqual([]);
  });
  test("of the same key have the stricter limit of each unit", () => {
    const own = (more: Partial<DayLimit>): readonly DayLimit[] => [{ of: "person", id: "ann", ...more }];
    const row = (limit: Limit, more: Partial<DayLimit>) =>
      limitedRows({ person: limit }, spender({ limits: own(more) }))[0]?.limit;
    expect(row({ tokens: 5 }, { tokens: 3 })).toEqual({ tokens: 3 });
    expect(row({ tokens: 3 }, { tokens: 5 })).toEqual({ tokens: 3 });
    expect(row({ tokens: 5 }, { micros: 7 })).toEqual({ tokens: 5, micros: 7 });
    expect(row({ micros: 9, tokens: 1 }, { micros: 7 })).toEqual({ tokens: 1, micros: 7 });
    expect(limitedRows({}, spender({ limits: [{ of: "token", id: "t", tokens: 1 }] }))).toEqual([
      { key: "token:D:t", limit: { tokens: 1 }, adds: undefined },
    ]);
  });
  test("count messages in rows of their own, only while there are some to count", () => {
    const limits: Limits = { agent: { messages: 2 }, day: { messages: 3 }, person: { messages: 4, tokens: 5 } };
    expect(limitedRows(limits, spender({ messages: 2 }))).toEqual([
      { key: "messages:D:agent:a", limit: { tokens: 2 }, adds: 2 },
      { key: "person:D:ann", limit: { tokens: 5 }, adds: undefined },
      { key: "messages:D:person:ann", limit: { tokens: 4 }, adds: 2 },
      { key: "messages:D:day", limit: { tokens: 3 }, adds: 2 },
    ]);
    expect(limitedRows(limits, spender()).map(({ key }) => key)).toEqual(["person:D:ann"]);
    expect(limitedRows({ day: { messages: 3 } }, spender({ messages: 1 }))).toEqual([
      { key: "messages:D:day", limit: { tokens: 3 }, adds: 1 },
    ]);
  });
  test("have keys by which their scope is known", () => {
    expect(dayKey({ of: "token", id: "t" }, "D")).toBe("token:D:t");
    expect(messagesKey({ of: "person", id: "ann" }, "D")).toBe("messages:D:person:ann");
    for (const scope of BUDGET_SCOPES) expect(scopeOf(`${scope}:x`)).toBe(scope);
    expect(scopeOf("agents:x")).toBeUndefined();
    expect(["token:D:crowd:*", "person:D:crowd:*", "token:D:crowd"].map(isCrowd)).toEqual([true, false, false]);
  });
});

describe("limits", () => {
  test.each<[Limit | undefined, boolean]>([
    [undefined, false],
    [{}, false],
    [{ tokens: 0 }, true],
    [{ micros: 0 }, true],
    [{ messages: 0 }, true],
  ])("%j limits something: %s", (limit, is) => {
    expect(isLimited(limit)).toBe(is);
    expect(limitedScopes({ day: limit })).toEqual(is ? ["day"] : []);
  });
  test("are counted in millionths of a dollar, rounded up", () => {
    expect([0, 1, 0.000_001, 0.000_000_1, 0.1 + 0.2, -1].map(microsOf)).toEqual([0, 1_000_000, 1, 1, 300_000, 0]);
    expect(limitOf({ dollars: 0.5, tokens: 1, messages: 2 })).toEqual({ micros: 500_000, tokens: 1, messages: 2 });
    expect(limitOf({})).toEqual({});
    expect(limitsOf({ day: { dollars: 1 }, agent: undefined })).toEqual({ day: { micros: 1_000_000 } });
    const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 };
    expect(spendOf(usage)).toEqual({ tokens: 3, micros: 0 });
    expect(spendOf({ ...usage, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 } })).toEqual({
      tokens: 3,
      micros: 250_000,
    });
  });
  test("are lifted by what a person allows", () => {
    expect(allowedOf({ tokens: 5 }, { tokens: 2, micros: 3 })).toEqual({ tokens: 7 });
    expect(allowedOf({ micros: 5 }, { tokens: 2, micros: 3 })).toEqual({ micros: 8 });
    expect(lift(lift(FRESH_ROW, { tokens: 1, micros: 2 }), { tokens: 3, micros: 4 }).lifted).toEqual({
      tokens: 4,
      micros: 6,
    });
    expect(charge(FRESH_ROW, { tokens: 1, micros: 2 })).toEqual({ ...FRESH_ROW, spent: { tokens: 1, micros: 2 } });
  });
});

describe("the sentence about a budget that is used up", () => {
  test.each<[string, Limit, object, string]>([
    [
      "agent:a",
      { tokens: 1_000 },
      { tokens: 1_000 },
      "The budget of this agent is used up: 1,000 of 1,000 tokens. The owner can lift it: rookery usage lift agent:a --tokens N, or raise budgets.agent in the configuration",
    ],
    [
      "tree:a",
      { tokens: 10 },
      { tokens: 9 },
      "The budget of this agent and all it started is nearly used up, and the next call does not fit: 9 of 10 tokens.",
    ],
    ["profile:D:work:x", { tokens: 1 }, { tokens: 1 }, "The budget of the profile work:x for today is used up"],
    [
      "person:D:telegram:7",
      { tokens: 1 },
      { tokens: 1 },
      "The budget of telegram:7 for today is used up: 1 of 1 tokens. The owner can lift it: rookery usage lift person:D:telegram:7 --tokens N",
    ],
    ["token:D:t", { tokens: 1 }, { tokens: 1 }, "The budget of the token t for today is used up"],
    [
      "day:D",
      { micros: 2_000_000 },
      { micros: 2_000_000 },
      "The budget for today is used up: $2.00 of $2.00. The owner can lift it: rookery usage lift day:D --dollars N, or raise budgets.day",
    ],
    [
      "day:D",
      { micros: 99_999 },
      { micros: 99_998 },
      "is nearly used up, and the next call does not fit: $0.1000 of $0.1000",
    ],
    ["day:D", { micros: 4, tokens: 5 }, { micros: 2, tokens: 5 }, "is used up: 5 of 5 tokens"],
    [
      "day:D",
      { micros: 3, tokens: 5 },
      { micros: 2, tokens: 5 },
      "is nearly used up, and the next call does not fit: $0.0000",
    ],
    ["day:D", { micros: 100_000 }, { micros: 100_000 }, "is used up: $0.10 of $0.10"],
    ["day:D", {}, {}, "is used up: 0 of 0 tokens"],
    ["day:D", { micros: 100_000, tokens: 5 }, { micros: 0, tokens: 5 }, "is used up: 5 of 5 tokens"],
    [
      "messages:D:agent:a",
      { tokens: 3 },
      { tokens: 3 },
      "The budget of messages of this agent for today is used up: 3 of 3 messages. The owner can lift it: rookery usage lift messages:D:agent:a --messages N",
    ],
    [
      "token:D:crowd:*",
      { tokens: 0 },
      {},
      "counts for more limits of tokens and people than can be kept, so it may not start: send it again in smaller parts. For today the owner can let it start: rookery usage lift token:D:crowd:* --tokens N",
    ],
    ["messages:D:person:ann", { tokens: 3 }, { tokens: 3 }, "The budget of messages of ann for today is used up"],
    ["messages:D:day", { tokens: 3 }, { tokens: 3 }, "The budget of messages for today is used up"],
  ])("of %s", (key, limit, spent, text) => {
    const sentence = reachedText(key, limit, { ...NOTHING, ...spent }, { tokens: 2, micros: 2 });
    expect(sentence.startsWith(text) || sentence.includes(text)).toBe(true);
    if (/^(?:person|token|messages)/.test(key)) expect(sentence).not.toContain("or raise");
  });
});

describe("whether a call may start", () => {
  const call: CallCost = { prompt: 100, maxTokens: 10_000, leastTokens: 50, read: 1, write: 2 };
  const row = (limit: Limit, more: object = {}) => ({ key: "k", limit, row: { ...FRESH_ROW, ...more } });
  test.each<[string, Limit, object, object]>([
    [
      "the whole answer fits",
      { tokens: 10_100 },
      {},
      { kind: "go", maxTokens: 10_000, reserved: { tokens: 10_100, micros: 20_100 } },
    ],
    ["a shorter one fits", { tokens: 10_099 }, {}, { kind: "go", maxTokens: 9_999 }],
    ["the shortest useful one fits", { tokens: 150 }, {}, { kind: "go", maxTokens: 50 }],
    ["one less does not", { tokens: 149 }, {}, { kind: "reached", key: "k", needed: { tokens: 150, micros: 200 } }],
    ["money for the shortest", { micros: 200 }, {}, { kind: "go", maxTokens: 50 }],
    ["a millionth less", { micros: 199 }, {}, { kind: "reached" }],
    ["an odd rest", { micros: 301 }, {}, { kind: "go", maxTokens: 100 }],
    [
      "others hold all of it",
      { tokens: 10_100 },
      { reserved: { tokens: 10_000, micros: 0 } },
      { kind: "wait", key: "k" },
    ],
    [
      "others leave a decent answer",
      { tokens: 10_100 },
      { reserved: { tokens: 10_000 - 4_096, micros: 0 } },
      { kind: "go", maxTokens: 4_096 },
    ],
    [
      "others leave less than decent",
      { tokens: 10_100 },
      { reserved: { tokens: 10_000 - 4_095, micros: 0 } },
      { kind: "wait" },
    ],
    ["less than decent without others", { tokens: 200 }, {}, { kind: "go", maxTokens: 100 }],
    ["lifted", { tokens: 0 }, { lifted: { tokens: 150, micros: 0 } }, { kind: "go", maxTokens: 50 }],
    ["money for a part, by the token", { micros: 200 }, { write: 1 }, { kind: "go", maxTokens: 100 }],
    ["money that others hold", { micros: 20_100 }, { reserved: { tokens: 0, micros: 20_000 } }, { kind: "wait" }],
  ])("%s", (_title, limit, more, decision) => {
    const { write = call.write, ...rest } = more as { readonly write?: number };
    expect(decideBudget({ ...call, write }, [row(limit, rest)])).toMatchObject(decision);
  });
  test("an answer that is less than useful waits, also if it would be decent elsewhere", () => {
    const long = { ...call, leastTokens: 5_000 };
    const left = (tokens: number) => row({ tokens: 10_100 }, { reserved: { tokens: 10_000 - tokens, micros: 0 } });
    expect(decideBudget(long, [left(5_000)])).toMatchObject({ kind: "go", maxTokens: 5_000 });
    expect(decideBudget(long, [left(4_999)])).toEqual({ kind: "wait", key: "k" });
  });
  test("with prices in fractions no more is reserved than is left, and not two tokens less than could be", () => {
    const price = fc.constantFrom(0.03, 0.1, 0.14, 0.28, 0.3, 0.7, 1.1, 2.2);
    fc.assert(
      fc.property(price, price, fc.integer({ min: 1, max: 60 }), fc.integer({ min: 60, max: 400 }), (...given) => {
        const [read, write, prompt, micros] = given;
        const asked: CallCost = { prompt, read, write, maxTokens: 100_000, leastTokens: 1 };
        const decision = decideBudget(asked, [row({ micros })]);
        if (decision.kind !== "go") return;
        expect(decision.reserved.micros).toBeLessThanOrEqual(micros);
        expect(costOf(asked, decision.maxTokens + 2).micros).toBeGreaterThan(micros);
      }),
    );
    const exact: CallCost = { prompt: 1, read: 0.1, write: 0.1, maxTokens: 9_999, leastTokens: 1 };
    expect(decideBudget(exact, [row({ micros: 52 })])).toMatchObject({ kind: "go", maxTokens: 518 });
  });
  test("a short answer is decent if no longer one is wanted", () => {
    const short = { ...call, maxTokens: 60 };
    expect(decideBudget(short, [row({ tokens: 200 }, { reserved: { tokens: 40, micros: 0 } })])).toMatchObject({
      kind: "go",
      maxTokens: 60,
    });
    expect(decideBudget(short, [row({ tokens: 200 }, { reserved: { tokens: 41, micros: 0 } })])).toMatchObject({
      kind: "wait",
    });
    expect(decideBudget({ ...call, maxTokens: 20 }, [row({ tokens: 120 })])).toMatchObject({
      kind: "go",
      maxTokens: 20,
    });
  });
  test("messages are counted in whole, before anything else", () => {
    const counted = (limit: number, spent: number) => ({
      ...row({ tokens: limit }, { spent: { tokens: spent, micros: 0 } }),
      adds: 2,
    });
    expect(decideBudget(call, [counted(5, 3)])).toMatchObject({ kind: "go" });
    expect(decideBudget(call, [counted(5, 4)])).toMatchObject({ kind: "reached", needed: { tokens: 2, micros: 0 } });
    expect(decideBudget(call, [{ ...row({}), adds: 1 }])).toMatchObject({ kind: "reached" });
  });
  test("the shortest answer of all rows counts, and the first that waits is named", () => {
    const rows = [row({ tokens: 5_100 }), { ...row({ tokens: 7_100 }), key: "other" }];
    expect(decideBudget(call, rows)).toMatchObject({ kind: "go", maxTokens: 5_000 });
    const held = { reserved: { tokens: 10_000, micros: 0 } };
    expect(
      decideBudget(call, [row({ tokens: 10_100 }, held), { ...row({ tokens: 10_100 }, held), key: "other" }]),
    ).toEqual({ kind: "wait", key: "k" });
  });
  test("a call that costs nothing, and one whose answers cost nothing", () => {
    expect(decideBudget({ ...call, read: 0, write: 0 }, [row({ micros: 0 })])).toMatchObject({
      kind: "go",
      maxTokens: 10_000,
    });
    expect(decideBudget({ ...call, write: 0 }, [row({ micros: 100 })])).toMatchObject({
      kind: "go",
      maxTokens: 10_000,
    });
    expect(decideBudget({ ...call, write: 0 }, [row({ micros: 99 })])).toMatchObject({ kind: "reached" });
    expect(decideBudget({ ...call, read: 0 }, [row({ micros: 100 })])).toMatchObject({ kind: "go", maxTokens: 50 });
    expect(costOf({ ...call, read: 0.5, write: 0.25 }, 1)).toEqual({ tokens: 101, micros: 51 });
  });
});
