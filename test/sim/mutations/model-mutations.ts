/** The engine broken around its budgets and its keys, through its ports: each names the law that must find it. */
import { FRESH_ROW } from "../../../src/core/budget/budget.ts";
import { costOf, decideBudget } from "../../../src/core/budget/budget-decision.ts";
import type { Ports } from "../../../src/core/ports/ports.ts";
import type { Change, Op, OpResult } from "../../../src/core/store/change.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { ForgetfulModel } from "../world/routed-model.ts";
import { committing } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

type Reserve = Extract<Op, { op: "budget.reserve" }>;

export const MODEL_MUTATIONS: readonly Mutation[] = [
  {
    name: "unreserved",
    about: "a call is made without a reservation",
    law: "L8",
    scenario: "tree-budget",
    ports: reserving(async ({ call }) => go(call.maxTokens, costOf(call, call.maxTokens))),
  },
  {
    name: "decided before the transaction",
    about: "the budget is checked before the transaction that reserves the call",
    law: "L8",
    scenario: "tree-budget",
    ports: reserving(async (op, store, change) => {
      const rows = await Promise.all(
        op.rows.map(async ({ key, limit }) => ({ key, limit, row: (await store.budget(key)) ?? FRESH_ROW })),
      );
      const decision = decideBudget(op.call, rows);
      if (decision.kind !== "go") return { op: "budget.reserve", decision, told: false };
      const call = { ...op.call, maxTokens: decision.maxTokens };
      const unlimited = { ...op, call, rows: op.rows.map(({ key }) => ({ key, limit: {} })) };
      const result = await store.commit({ ...change, ops: [unlimited, ...change.ops.slice(1)] });
      return result.ok ? result.results[0] : result;
    }),
  },
  {
    name: "result uncharged",
    about: "the cost of a call never replaces its reservation",
    law: "liveness",
    scenario: "day-budget",
    from: 2,
    ports: without("budget.settle"),
  },
  {
    name: "orphan forgotten",
    about: "the reservations of a dead process stay",
    law: "liveness",
    scenario: "day-budget",
    from: 2,
    ports: without("budget.forfeit"),
  },
  {
    name: "orphan for nothing",
    about: "a call whose result was lost is not charged",
    law: "L8",
    scenario: "day-budget",
    from: 2,
    ports: committing(async (store, change) => {
      const lost = change.ops.flatMap((op) => (op.op === "budget.forfeit" ? [op.runId] : []));
      if (lost.length === 0) return store.commit(change);
      const left = (await store.reservations({ limit: 1_000 })).filter(({ runId }) => lost.some((id) => id === runId));
      const settling = left.map(({ id }): Op => ({ op: "budget.settle", id, actual: { tokens: 0, micros: 0 } }));
      return store.commit({ ...change, ops: [...change.ops.filter(({ op }) => op !== "budget.forfeit"), ...settling] });
    }),
  },
  {
    name: "notice repeated",
    about: "the notice that a budget is used up is not recorded",
    law: "M21",
    scenario: "tree-budget",
    ports: without("budget.told"),
  },
  {
    name: "answer unlimited",
    about: "the request does not limit the length of the answer",
    law: "L8",
    scenario: "tree-budget",
    from: 2,
    ports: (ports) => {
      const { model } = ports;
      const call: typeof model.call = ({ maxTokens: _, ...request }, signal, say) => model.call(request, signal, say);
      return { ...ports, model: { ...model, call } };
    },
  },
  {
    name: "keys forgotten",
    about: "a call does not know which keys were refused or limited before",
    law: "keys",
    scenario: "keys",
    ports: (ports) => ({ ...ports, model: (ports.model as ForgetfulModel).forgetful() }),
  },
];

const go = (maxTokens: number, reserved: ReturnType<typeof costOf>): OpResult => ({
  op: "budget.reserve",
  decision: { kind: "go", reserved, maxTokens },
  told: false,
});

/** Drops an op from every change; its result is missing. */
function without(name: Op["op"]): (ports: Ports) => Ports {
  return committing(async (store, change) => {
    const kept = change.ops.filter(({ op }) => op !== name);
    const result = await store.commit({ ...change, ops: kept });
    if (!result.ok) return result;
    return {
      ok: true,
      results: change.ops.map((op) => (op.op === name ? undefined : result.results[kept.indexOf(op)])),
    };
  });
}

/** Answers reservations in place of the store. A refusal is passed on unchanged. */
function reserving(
  answer: (
    op: Reserve,
    store: Store,
    change: Change,
  ) => Promise<OpResult | undefined | Extract<Awaited<ReturnType<Store["commit"]>>, { ok: false }>>,
): (ports: Ports) => Ports {
  return committing(async (store, change) => {
    const [op] = change.ops;
    if (op?.op !== "budget.reserve") return store.commit(change);
    const said = await answer(op, store, change);
    if (said && "refused" in said) return said;
    return { ok: true, results: [said] };
  });
}
