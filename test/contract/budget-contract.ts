/** Budgets: reserved in the transaction, settled once, charged in full if the result is unknown, lifted (L8, M21). */
import { expect } from "vitest";
import { FRESH_ROW, type Limit, NOTHING } from "../../src/core/budget/budget.ts";
import { type BudgetDecision, type CallCost, costOf } from "../../src/core/budget/budget-decision.ts";
import type { RunId } from "../../src/core/ids.ts";
import type { Op } from "../../src/core/store/change.ts";
import { type Held, idOf, type Opener, reopened, runBody, START, storeTest, type World } from "./fixture.ts";

const R = "r" as RunId;
const CALL: CallCost = { prompt: 10, maxTokens: 90, leastTokens: 10, read: 1, write: 2 };
const FULL = costOf(CALL, 90);
const TREE = "tree:t";
const DAY = "day:2026-01-31";

const reserveOp = (id: string, limit: Limit, keys: readonly string[] = [TREE], runId = R): Op => ({
  op: "budget.reserve",
  id,
  runId,
  call: CALL,
  rows: keys.map((key) => ({ key, limit })),
});

async function reserve(world: World, held: Held, op: Op): Promise<{ decision: BudgetDecision; told: boolean }> {
  const [result] = await world.done([op], held.owner);
  if (result?.op !== "budget.reserve") throw new Error("No answer.");
  return result;
}

export function budgetContract(open: Opener): void {
  storeTest(
    "a call reserves its maximum cost on every row, and its settlement replaces the reservation",
    open,
    async (world) => {
      const a = await world.agent("a");
      const { decision } = await reserve(world, a, reserveOp("1", { micros: 1_000, tokens: 1_000 }, [TREE, DAY]));
      expect(decision).toEqual({ kind: "go", reserved: FULL, maxTokens: 90 });
      for (const key of [TREE, DAY]) {
        expect(await world.store.budget(key)).toEqual({ ...FRESH_ROW, key, reserved: FULL, at: expect.any(Number) });
      }
      expect(await world.store.reservations({ limit: 10 })).toEqual([
        { id: "1", runId: R, keys: [TREE, DAY], cost: FULL, at: expect.any(Number) },
      ]);
      const actual = { tokens: 40, micros: 50 };
      await world.done([{ op: "budget.settle", id: "1", actual }]);
      for (const key of [TREE, DAY]) {
        expect(await world.store.budget(key)).toMatchObject({ spent: actual, reserved: NOTHING, estimated: NOTHING });
      }
      expect(await world.store.reservations({ limit: 10 })).toEqual([]);
    },
  );

  storeTest(
    "messages are counted with the reservation of a call that may start, exactly up to their limit",
    open,
    async (world) => {
      const a = await world.agent("a");
      const body = runBody();
      await world.done([{ op: "run.open", runId: R, body }], a.owner);
      const count = (id: string, limit: number, adds = 1): Op => ({
        ...(reserveOp(id, { tokens: 1_000 }) as Extract<Op, { op: "budget.reserve" }>),
        rows: [
          { key: TREE, limit: { tokens: 1_000 } },
          { key: "messages:2026-01-31:token:t", limit: { tokens: limit }, adds },
        ],
        counted: { ...body, counted: adds },
      });
      const MESSAGES = "messages:2026-01-31:token:t";
      expect((await reserve(world, a, count("1", 2))).decision.kind).toBe("go");
      // The same reservation again counts nothing.
      expect((await reserve(world, a, count("1", 2))).decision.kind).toBe("go");
      expect(await world.store.budget(MESSAGES)).toMatchObject({ spent: { tokens: 1, micros: 0 }, reserved: NOTHING });
      expect((await world.store.run(R))?.body.counted).toBe(1);
      expect((await world.store.reservations({ limit: 10 }))[0]?.keys).toEqual([TREE]);
      expect((await reserve(world, a, count("2", 2, 2))).decision).toEqual({
        kind: "reached",
        key: MESSAGES,
        allowed: { tokens: 2 },
        spent: { tokens: 1, micros: 0 },
        needed: { tokens: 2, micros: 0 },
      });
      // Refused: nothing is reserved, counted or changed.
      expect((await world.store.run(R))?.body.counted).toBe(1);
      expect(await world.store.budget(TREE)).toMatchObject({ reserved: FULL });
      await world.done([{ op: "budget.lift", key: MESSAGES, more: { tokens: 1, micros: 0 } }]);
      expect((await reserve(world, a, count("3", 2, 2))).decision.kind).toBe("go");
      expect(await world.store.budget(MESSAGES)).toMatchObject({ spent: { tokens: 3, micros: 0 } });
      // Rows of a day end with it: of tokens, profiles and messages too.
      for (const key of ["token:2026-01-31:t", "profile:2026-01-31:main"]) {
        await world.done([{ op: "budget.charge", key, spent: { tokens: 1, micros: 0 } }]);
      }
      await world.done([{ op: "budget.forfeit", runId: R }]);
      await world.done([{ op: "budget.sweep", reservedBefore: 0, rowsBefore: Number.MAX_SAFE_INTEGER }]);
      expect((await world.store.budgets({ limit: 10 })).map(({ key }) => key)).toEqual([TREE]);
    },
  );

  storeTest("repeating a reservation or a settlement changes nothing", open, async (world) => {
    const a = await world.agent("a");
    const op = reserveOp("1", { micros: 200 });
    const first = await reserve(world, a, op);
    expect(await reserve(world, a, op)).toEqual(first);
    expect(await world.store.budget(TREE)).toMatchObject({ reserved: FULL });
    await world.done([{ op: "budget.settle", id: "1", actual: FULL }]);
    await world.done([
      { op: "budget.settle", id: "1", actual: FULL },
      { op: "budget.settle", id: "never there", actual: "unknown" },
    ]);
    expect(await world.store.budget(TREE)).toMatchObject({ spent: FULL, reserved: NOTHING });
  });

  storeTest("concurrent calls reserve no more than the budget allows, also within one group", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const [one, other] = await Promise.all([
      reserve(world, a, reserveOp("1", { micros: 250 })),
      reserve(world, b, reserveOp("2", { micros: 250 })),
    ]);
    expect([one.decision.kind, other.decision.kind].sort()).toEqual(["go", "wait"]);
    expect(await world.store.budget(TREE)).toMatchObject({ reserved: FULL });
    await world.done([{ op: "budget.settle", id: "1", actual: { tokens: 10, micros: 20 } }]);
    await world.done([{ op: "budget.settle", id: "2", actual: { tokens: 10, micros: 20 } }]);
    expect((await reserve(world, b, reserveOp("3", { micros: 250 }))).decision.kind).toBe("go");
  });

  storeTest("a refused reservation reserves nothing on any row and states the reason", open, async (world) => {
    const a = await world.agent("a");
    const op: Op = {
      op: "budget.reserve",
      id: "1",
      runId: R,
      call: CALL,
      rows: [
        { key: DAY, limit: { micros: 1_000 } },
        { key: TREE, limit: { micros: 29 } },
      ],
    };
    expect(await reserve(world, a, op)).toEqual({
      op: "budget.reserve",
      decision: { kind: "reached", key: TREE, allowed: { micros: 29 }, spent: NOTHING, needed: costOf(CALL, 10) },
      told: false,
    });
    expect(await world.store.budgets({ limit: 10 })).toEqual([]);
    expect(await world.store.reservations({ limit: 10 })).toEqual([]);
  });

  storeTest("a run's reservations are charged in full if their result stays unknown", open, async (world) => {
    const a = await world.agent("a");
    await reserve(world, a, reserveOp("1", { micros: 1_000 }));
    await reserve(world, a, reserveOp("2", { micros: 1_000 }));
    await reserve(world, a, reserveOp("3", { micros: 1_000 }, [TREE], "other" as RunId));
    expect(await world.done([{ op: "budget.forfeit", runId: R }])).toEqual([{ op: "budget.forfeit", charged: 2 }]);
    const twice = { tokens: 2 * FULL.tokens, micros: 2 * FULL.micros };
    expect(await world.store.budget(TREE)).toMatchObject({ spent: twice, estimated: twice, reserved: FULL });
    expect(await world.done([{ op: "budget.forfeit", runId: R }])).toEqual([{ op: "budget.forfeit", charged: 0 }]);
    expect((await world.store.reservations({ limit: 10 })).map(({ id }) => id)).toEqual(["3"]);
  });

  storeTest(
    "a notice that the budget is used up is stored per agent, until the budget is lifted",
    open,
    async (world) => {
      const [a, b] = [await world.agent("a"), await world.agent("b")];
      const op = (id: string) => reserveOp(id, { micros: 29 });
      expect((await reserve(world, a, op("1"))).told).toBe(false);
      await world.done([{ op: "budget.told", key: TREE }], a.owner);
      await world.done([{ op: "budget.told", key: TREE }], a.owner);
      expect((await reserve(world, a, op("2"))).told).toBe(true);
      expect((await reserve(world, b, op("3"))).told).toBe(false);
      await world.done([{ op: "budget.lift", key: TREE, more: { tokens: 0, micros: 500 } }]);
      expect((await reserve(world, a, op("4"))).decision.kind).toBe("go");
      expect(await world.store.budget(TREE)).toMatchObject({ lifted: { tokens: 0, micros: 500 }, reserved: FULL });
      await world.done([{ op: "budget.forfeit", runId: R }]);
      await world.done([{ op: "budget.lift", key: TREE, more: { tokens: 0, micros: -500 } }]);
      expect((await reserve(world, a, op("5"))).told).toBe(false);
    },
  );

  storeTest("only the owner can reserve, and not for an aborted run", open, async (world) => {
    const a = await world.agent("a");
    await world.openRun(a, R);
    const owner = { ...a.owner, run: { id: R, step: 1 } };
    expect(await world.refused([reserveOp("1", { micros: 1_000 })])).toBe("fenced");
    expect(await world.refused([reserveOp("1", { micros: 1_000 })], { ...owner, epoch: 99 })).toBe("fenced");
    await world.done([{ op: "run.abort", runId: R, mark: { reason: "person", at: START } }]);
    expect(await world.refused([reserveOp("1", { micros: 1_000 })], owner)).toBe("aborted");
    expect(await world.store.reservations({ limit: 10 })).toEqual([]);
    // A settlement in a change that is refused is not applied either.
    await world.done([reserveOp("2", { micros: 1_000 })], { ...owner, run: { ...owner.run, evenAborted: true } });
    const settling: Op = { op: "budget.settle", id: "2", actual: NOTHING };
    expect(await world.refused([settling], owner)).toBe("aborted");
    expect(await world.store.reservations({ limit: 10 })).toHaveLength(1);
  });

  storeTest("old reservations are charged, rows of past days are removed, rows of agents stay", open, async (world) => {
    const a = await world.agent("a");
    await reserve(world, a, reserveOp("1", { micros: 1_000 }, ["agent:a", TREE, DAY, "person:2026-01-31:p"]));
    const old = world.now;
    await reserve(world, a, reserveOp("2", { micros: 1_000 }, ["day:2026-02-01"]));
    const sweep = (reservedBefore: number, rowsBefore: number) =>
      world.done([{ op: "budget.sweep", reservedBefore, rowsBefore }]);
    expect(await sweep(old, old)).toEqual([{ op: "budget.sweep", charged: 1, removed: 0 }]);
    expect((await world.store.reservations({ limit: 10 })).map(({ id }) => id)).toEqual(["2"]);
    expect(await sweep(old, world.now)).toEqual([{ op: "budget.sweep", charged: 0, removed: 2 }]);
    const left = await world.store.budgets({ limit: 10 });
    expect(left.map(({ key }) => key)).toEqual(["agent:a", "day:2026-02-01", TREE]);
    expect(left[0]).toMatchObject({ spent: FULL, estimated: FULL });
  });

  storeTest("rows are listed by key, in pages", open, async (world) => {
    const a = await world.agent("a");
    await reserve(world, a, reserveOp("1", { micros: 1_000 }, ["agent:b", "agent:a", "day:d"]));
    const keys = async (after?: string) => (await world.store.budgets({ limit: 2, after })).map(({ key }) => key);
    expect(await keys()).toEqual(["agent:a", "agent:b"]);
    expect(await keys("agent:b")).toEqual(["day:d"]);
    expect(await world.store.budget("agent:unknown")).toBeUndefined();
  });

  storeTest("budgets, reservations and notices survive reopening the store", open, async (world, opened, context) => {
    const a = await world.agent("a");
    await reserve(world, a, reserveOp("1", { micros: 1_000 }));
    await world.done([{ op: "budget.told", key: TREE }], a.owner);
    await reopened(world, opened, context);
    expect(await world.store.budget(TREE)).toMatchObject({ reserved: FULL });
    expect(await world.store.reservations({ limit: 10 })).toHaveLength(1);
  });

  storeTest("the usage of runs since a given time is summed by agent and person", open, async (world) => {
    const [a, b] = [await world.agent("a"), await world.agent("b")];
    const usage = (total: number) => ({
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: total,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: total / 4 },
    });
    const run = async (held: Held, id: string, more: object) => {
      await world.openRun(held, id);
      await world.done(
        [{ op: "run.end", runId: id as RunId, body: { ...runBody(), ...more }, outcome: "ok" }],
        held.owner,
      );
    };
    await run(a, "before", { usage: usage(1_000) });
    const since = world.now;
    await run(a, "1", { usage: usage(8), person: "x:1" });
    await run(a, "2", { usage: usage(4), person: "x:1" });
    await run(a, "3", { usage: usage(2), person: "x:2" });
    await run(b, "4", {});
    expect(await world.store.usageSince(since)).toEqual([
      { agentId: idOf("a"), person: "x:1", runs: 2, tokens: 12, cost: 3 },
      { agentId: idOf("a"), person: "x:2", runs: 1, tokens: 2, cost: 0.5 },
      { agentId: idOf("b"), runs: 1, tokens: 0, cost: 0 },
    ]);
    expect(await world.store.usageSince(world.now + 1)).toEqual([]);
    expect(await world.store.usageSince(0, since)).toMatchObject([{ agentId: idOf("a"), runs: 1, tokens: 1_000 }]);
    expect(await world.store.usageSince(since, since)).toEqual([]);
  });
}
