/** Whose spending a run is, what people see of budgets and how they allow more: tables and pages over a store made of records. */
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { type BudgetRecord, FRESH_ROW, type Limits } from "../../core/budget/budget.ts";
import type { AgentId } from "../../core/ids.ts";
import { CROWD_LIMIT } from "../../core/people/crowd.ts";
import type { PersonId } from "../../core/people/person.ts";
import { liftBudget, listBudgets, spentSince } from "./budget-book.ts";
import { personNow } from "./person-now.ts";
import { rootOf, spenderOf, workedFor } from "./spender.ts";

const agents: Record<string, { parent?: string; connector?: string }> = {
  root: { connector: "test" },
  mid: { parent: "root" },
  leaf: { parent: "mid" },
  lost: { parent: "gone" },
};
const record = (id: string): AgentRecord | undefined => {
  const made = agents[id];
  if (!made) return undefined;
  const descriptor = made.parent
    ? { type: "subagent", id, parentAgentId: made.parent, name: id }
    : { type: "user", connector: made.connector, userId: id, channelId: id };
  return { id, profile: `profile-${id}`, descriptor } as unknown as AgentRecord;
};
const store = (lastRuns: Record<string, string> = {}) =>
  ({
    agent: async (id: string) => record(id),
    runs: async (id: string) => (lastRuns[id] ? [{ body: { person: lastRuns[id] } }] : []),
  }) as never;
const budgets = {
  limitsFor: () => ({}),
  dayOf: (at: number) => `day-${at}`,
  personNamed: (connector: string, id: string) => `${connector}/${id}`,
};
const body = (more: object = {}) => ({ seqs: [1, 2], ...more }) as never;
const spender = (id: string, more: object = {}, runs?: Record<string, string>) =>
  spenderOf(store(runs), budgets, record(id) as AgentRecord, body(more), 5);

describe("whose spending a run is", () => {
  test("its agent's, its tree's and its person's, on the day it happens", async () => {
    expect(await spender("root", { humanAt: 1 })).toEqual({
      ...{
        agentId: "root",
        rootId: "root",
        profile: "profile-root",
        person: "test/root",
        day: "day-5",
        limits: undefined,
        messages: 2,
      },
    });
    expect(await spender("leaf")).toMatchObject({ agentId: "leaf", rootId: "root", messages: 0 });
    expect(await spender("lost")).toMatchObject({ rootId: "lost", person: undefined });
  });
  test("the person of its way before all others, with the limits that travel with it", async () => {
    const behalf = { person: "ann" as PersonId, limits: [{ of: "token", id: "t" }] };
    expect(await spender("leaf", { behalf, person: "test:bob" }, { mid: "test:eve" })).toMatchObject({
      person: "ann",
      limits: behalf.limits,
    });
  });
  test("of a run that names no one: who wrote, else who its parent last worked for, else whose the parent is", async () => {
    expect((await spender("root", { person: "test:bob" })).person).toBe("test/bob");
    expect((await spender("leaf", {}, { mid: "a:b:c" })).person).toBe("a/b:c");
    expect((await spender("leaf", {}, { root: "test:eve" })).person).toBe("test/eve");
    expect((await spender("leaf")).person).toBe("test/root");
    expect((await spender("mid", { person: "test:bob" }, { root: "test:eve" })).person).toBe("test/bob");
  });
  test("reads one run of each parent, the last, until it knows the person", async () => {
    const asked: unknown[] = [];
    const reads = (lastRuns: Record<string, string>) => ({
      agent: async (id: string) => record(id),
      runs: async (id: string, { limit }: { limit: number }) => {
        asked.push([id, limit]);
        return lastRuns[id] ? [{ body: { person: lastRuns[id] } }] : [];
      },
    });
    const leaf = record("leaf") as AgentRecord;
    await spenderOf(reads({ root: "test:eve" }) as never, budgets, leaf, body(), 5);
    await spenderOf(reads({ mid: "test:eve" }) as never, budgets, leaf, body(), 5);
    await spenderOf(reads({}) as never, budgets, leaf, body({ person: "test:bob" }), 5);
    expect(asked).toEqual([
      ["mid", 1],
      ["root", 1],
      ["mid", 1],
    ]);
  });
  test("with the messages that are not counted yet", async () => {
    expect((await spender("root", { humanAt: 1, counted: 1 })).messages).toBe(1);
    expect((await spender("root", { humanAt: 1, said: 5, counted: 5 })).messages).toBe(0);
  });
  test("of a tree that is deeper than any may be: the agent 64 above it counts as its top", async () => {
    const chain = (n: number) => ({
      id: `a${n}`,
      profile: "main",
      descriptor: { type: "subagent", id: `a${n}`, parentAgentId: `a${n + 1}`, name: "x" },
    });
    const deep = { agent: async (id: string) => chain(Number(id.slice(1))), runs: async () => [] } as never;
    expect(await rootOf(deep, "a0" as AgentId)).toBe("a64");
    expect(await spenderOf(deep, budgets, chain(0) as never, body(), 5)).toMatchObject({ rootId: "a64" });
  });
  test("and the agent at the top of a tree", async () => {
    expect(await Promise.all(["leaf", "root", "lost", "none"].map((id) => rootOf(store(), id as AgentId)))).toEqual([
      "root",
      "root",
      "gone",
      "none",
    ]);
    expect(workedFor(record("root") as AgentRecord, {})).toEqual({ person: "test:root" });
    expect(workedFor(record("leaf") as AgentRecord, {})).toEqual({});
    expect(workedFor(record("root") as AgentRecord, { person: "x:y" })).toEqual({ person: "x:y" });
  });
  test("of a person with a record counts by what the record allows", async () => {
    const now = personNow({
      recent: async () =>
        ({
          personOf: (id: string) => (id === "test:7" ? "ann" : id),
          record: (id: string) => (id === "ann" ? { limits: { dollarsPerDay: 1, messagesPerDay: 2 } } : undefined),
        }) as never,
    });
    expect(await now?.("test:7" as PersonId)).toEqual({ id: "ann", limit: { micros: 1_000_000, messages: 2 } });
    expect(await now?.("bob" as PersonId)).toEqual({ id: "bob", limit: undefined });
  });
});

describe("budgets as people see them", () => {
  const row = (key: string, more: object = {}): BudgetRecord => ({ ...FRESH_ROW, key, at: 1, ...more });
  const limits: Limits = { agent: { tokens: 10 }, day: { micros: 5, messages: 3 }, person: { messages: 4 } };
  const rows = (all: readonly BudgetRecord[]) => {
    const pages: number[] = [];
    const budgetsOf = async ({ after, limit }: { after: string; limit: number }) => {
      const page = all.filter(({ key }) => key > after).slice(0, limit);
      pages.push(page.length);
      return page;
    };
    return { store: { budgets: budgetsOf }, pages };
  };
  test("are listed by key with their limits, beyond a page", async () => {
    const { store: reader } = rows([
      row("agent:a", { lifted: { tokens: 2, micros: 0 } }),
      row("day:D"),
      row("messages:D:day"),
      row("messages:D:person:ann"),
      row("other:x"),
      row("token:D:t"),
    ]);
    const listed = await listBudgets({ store: reader as never }, limits);
    expect(listed.map(({ key, scope, of, limit, allowed }) => [key, scope, of, limit, allowed])).toEqual([
      ["agent:a", "agent", "a", { tokens: 10 }, { tokens: 12 }],
      ["day:D", "day", "D", { micros: 5, messages: 3 }, { micros: 5 }],
      ["messages:D:day", "messages", "D:day", { tokens: 3 }, { tokens: 3 }],
      ["messages:D:person:ann", "messages", "D:person:ann", { tokens: 4 }, { tokens: 4 }],
      ["token:D:t", "token", "D:t", undefined, undefined],
    ]);
    const many = (count: number) =>
      rows(Array.from({ length: count }, (_, n) => row(`agent:${String(n).padStart(4, "0")}`)));
    const full = many(500);
    expect(await listBudgets({ store: full.store as never }, limits)).toHaveLength(500);
    expect(full.pages).toEqual([500, 0]);
    const more = many(501);
    expect(await listBudgets({ store: more.store as never }, limits)).toHaveLength(501);
  });
  const lifting = (before: BudgetRecord | undefined, ok = true) => {
    const ops: unknown[] = [];
    const ports = {
      clock: virtualClock(),
      ids: { change: () => "c" },
      store: {
        budget: async () => before,
        agent: async (id: string) => record(id),
        commit: async (change: { ops: unknown[] }) => {
          ops.push(...change.ops);
          return ok ? { ok, results: [] } : { ok, refused: "conflict", detail: "busy" };
        },
      },
    };
    return { ports: ports as never, ops };
  };
  test("are lifted by their limit, or by what is said", async () => {
    const one = lifting(row("agent:a"));
    expect(await liftBudget(one.ports, limits, "agent:a")).toMatchObject({
      key: "agent:a",
      allowed: { tokens: 20 },
      lifted: { tokens: 10, micros: 0 },
    });
    expect(one.ops).toEqual([{ op: "budget.lift", key: "agent:a", more: { tokens: 10, micros: 0 } }]);
    const said = lifting(row("token:D:t"));
    const also = ({ key }: { key: string }) => [{ op: "fact.put", key, value: "1" }] as const;
    expect(await liftBudget(said.ports, limits, "token:D:t", { micros: 7 }, also)).toMatchObject({
      lifted: { tokens: 0, micros: 7 },
    });
    expect(said.ops).toHaveLength(2);
    // A day that has not begun to spend can be lifted before.
    expect(await liftBudget(lifting(undefined).ports, limits, "day:D")).toMatchObject({
      lifted: { tokens: 0, micros: 5 },
    });
    // So can an agent and a tree that exist, and what everyone shares.
    const amount = { tokens: 4 };
    for (const key of ["agent:root", "tree:leaf", `token:D:${CROWD_LIMIT.id}`]) {
      expect(await liftBudget(lifting(undefined).ports, limits, key, amount)).toMatchObject({
        ...{ key, lifted: { tokens: 4, micros: 0 } },
      });
    }
    for (const key of ["tree:gone", "token:D:t", "person:D:ann", "profile:D:main"]) {
      await expect(liftBudget(lifting(undefined).ports, limits, key, amount)).rejects.toThrow("Nothing was spent");
    }
    expect(await liftBudget(lifting(row("messages:D:day")).ports, limits, "messages:D:day")).toMatchObject({
      lifted: { tokens: 3 },
    });
  });
  test.each<[string, string, BudgetRecord | undefined, boolean, string]>([
    ["a key that is none", "what", undefined, true, "is not the key of a budget"],
    ["no limit", "token:D:t", row("token:D:t"), true, "does not limit token:D:t"],
    ["no limit of messages", "messages:D:agent:a", row("messages:D:agent:a"), true, "does not limit"],
    ["nothing spent and no such agent", "agent:a", undefined, true, "Nothing was spent under agent:a yet"],
    ["another change", "agent:a", row("agent:a"), false, "could not be lifted: busy"],
  ])("are not lifted with %s", async (_title, key, before, ok, text) => {
    await expect(liftBudget(lifting(before, ok).ports, limits, key)).rejects.toThrow(text);
  });
  test("what was spent since a time is counted by agent and tree, for those who may be seen", async () => {
    const asked: unknown[] = [];
    const usage = [
      { agentId: "leaf", tokens: 1, cost: 0.5 },
      { agentId: "root", tokens: 2, cost: 0.25 },
      { agentId: "leaf", tokens: 4, cost: 0 },
    ];
    const reader = {
      usageSince: async (...given: unknown[]) => {
        asked.push(given);
        return usage;
      },
      agent: async (id: string) => record(id),
    } as never;
    expect(await spentSince({ store: reader }, 7)).toMatchObject({
      tokens: 7,
      dollars: 0.75,
      by: [{ rootId: "root" }, { rootId: "root" }, { rootId: "root" }],
    });
    expect(await spentSince({ store: reader }, 7, (agent) => agent?.id === "root", 9)).toMatchObject({
      tokens: 2,
      dollars: 0.25,
    });
    expect(asked).toEqual([
      [7, undefined],
      [7, 9],
    ]);
  });
});
