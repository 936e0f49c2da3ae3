import { describe, expect, it } from "vitest";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { limitsOf } from "../../core/budget/budget.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import type { CallPrice, ModelResult } from "../../core/ports/model.ts";
import { liftBudget, listBudgets, spentSince } from "../budgets/budget-book.ts";
import {
  dieAt,
  failure,
  gate,
  inTurn,
  lastText,
  Nest,
  type NestOptions,
  type Reply,
  START,
  stall,
} from "./engine.test-kit.ts";

/** A token read costs 1 micro, one written 10; an answer has up to 1,000 tokens. */
const PRICE: CallPrice = {
  contextWindow: 100_000,
  maxTokens: 1_000,
  leastTokens: 10,
  cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
};
const used = (input: number, output: number) => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + output,
  cost: { input: input / 1e6, output: output / 1e5, cacheRead: 0, cacheWrite: 0, total: (input + 10 * output) / 1e6 },
});
/** 100 read and 90 written: 1,000 micros. */
const answer = (text: string): Partial<ModelResult> => ({ content: [{ type: "text", text }], usage: used(100, 90) });

type Config = Parameters<typeof limitsOf>[0];
const within = (limits: Config, more: NestOptions = {}): NestOptions => ({
  script: ({ request }) => answer(`answer to ${lastText(request)}`),
  price: PRICE,
  ...more,
  system: {
    ...more.system,
    budgets: { limitsFor: () => limitsOf(limits), dayOf: (at) => new Date(at).toISOString().slice(0, 10) },
  },
});
const dollars = (micros: number) => micros / 1e6;
const keyOf = async (nest: Nest, scope: "agent" | "tree", name = "ann") => `${scope}:${await nest.agentId(name)}`;
const sites = (nest: Nest) => nest.commits.map(({ site }) => site);
const nothingReserved = async (nest: Nest) => {
  expect(await nest.store.reservations({ limit: 10 })).toEqual([]);
  for (const { reserved } of await nest.store.budgets({ limit: 100 }))
    expect(reserved).toEqual({ tokens: 0, micros: 0 });
};
const child = (parent: AgentId, id: string): AgentDescriptor => ({
  type: "subagent",
  id,
  parentAgentId: parent,
  name: id,
});

describe("a budget", () => {
  it("that does not exist costs no commit", async () => {
    const nest = await Nest.open({ price: PRICE });
    await nest.tell("hi");
    const without = sites(nest);
    expect(without).not.toContain("reserve");
    const unlimited = await Nest.open(within({}));
    await unlimited.tell("hi");
    expect(sites(unlimited)).toEqual(without);
    expect(await unlimited.store.budgets({ limit: 10 })).toEqual([]);
    expect(unlimited.requests[0]?.maxTokens).toBeUndefined();
  });

  it("is reserved before the call and settled with the step that keeps its result", async () => {
    const during: unknown[] = [];
    const nest: Nest = await Nest.open(
      within(
        { agent: { dollars: 1 }, tree: { tokens: 1e6 }, person: { dollars: 2 }, day: { tokens: 1e6 } },
        {
          script: async ({ request }) => {
            for (const { key, reserved } of await nest.store.budgets({ limit: 10 }))
              during.push([key, reserved.micros > 10_000]);
            return answer(lastText(request));
          },
        },
      ),
    );
    await nest.tell("hi");
    const id = await nest.agentId();
    expect(during).toEqual([
      [`agent:${id}`, true],
      ["day:2026-01-05", true],
      ["person:2026-01-05:test:ann", true],
      [`tree:${id}`, true],
    ]);
    expect(sites(nest).filter((site) => ["take", "reserve", "settle", "rest"].includes(site))).toEqual([
      "take",
      "reserve",
      "rest",
    ]);
    expect(nest.requests[0]?.maxTokens).toBe(1_000);
    for (const { spent, estimated } of await nest.store.budgets({ limit: 10 })) {
      expect(spent).toEqual({ tokens: 190, micros: 1_000 });
      expect(estimated.micros).toBe(0);
    }
    await nothingReserved(nest);
  });

  it("that is used up ends the run with that reason, is told once, and can be lifted", async () => {
    const nest = await Nest.open(within({ agent: { dollars: dollars(2_100) } }));
    for (const text of ["one", "two", "three", "four"]) await nest.tell(text);
    const shown = nest.shown();
    expect(shown.slice(0, 2)).toEqual(["answer to one", "answer to two"]);
    expect(shown).toHaveLength(3);
    expect(shown[2]).toContain("The budget of this agent is nearly used up");
    expect(shown[2]).toContain("$0.0020 of $0.0021");
    expect(await nest.states()).toEqual(["answered", "answered", "failed", "failed"]);
    const [, , third, fourth] = await nest.runs();
    expect(third?.body.error?.kind).toBe("budget");
    expect(fourth).toMatchObject({ outcome: "error", body: { error: { kind: "budget" } } });
    expect(nest.requests).toHaveLength(2);

    const key = await keyOf(nest, "agent");
    const limits = limitsOf({ agent: { dollars: dollars(2_100) } });
    const ports = nest.ports({ alive: true, name: "desk" });
    expect(await liftBudget(ports, limits, key)).toMatchObject({ key, allowed: { micros: 4_200 }, scope: "agent" });
    for (const text of ["five", "six", "seven", "eight"]) await nest.tell(text);
    expect(nest.shown().slice(3, 5)).toEqual(["answer to five", "answer to six"]);
    expect(nest.shown()).toHaveLength(6);
    expect(nest.shown()[5]).toContain("used up");
    await nothingReserved(nest);
  });

  it("is told to each conversation that meets it, and to nobody by a run that answers nobody", async () => {
    const nest = await Nest.open(within({ day: { dollars: dollars(1_500) } }));
    await nest.tell("one");
    await nest.tell("unheard", { delivery: undefined });
    await nest.tell("two");
    await nest.tell("hello", { name: "ben" });
    await nest.tell("again", { name: "ben" });
    const told = nest.channel().calls.map(({ target, payload }) => `${target.to}: ${payload.text?.slice(0, 20)}`);
    expect(told).toEqual(["ann: answer to one", "ann: The budget for today", "ben: The budget for today"]);
    await nest.advance(24 * 3600_000);
    await nest.tell("next day");
    expect(nest.shown().at(-1)).toBe("answer to next day");
  });

  it("is told to the next who writes where the run that met it was aborted instead", async () => {
    const nest = await Nest.open(within({ agent: { dollars: dollars(10) } }));
    nest.fate = (change) => {
      const run = change.site === "end.failed" ? change.owner?.run : undefined;
      const mark = { reason: "person", at: START } as const;
      if (run) {
        const ops = [{ op: "run.abort", runId: run.id, mark }] as const;
        void nest.store.commit({ id: "mark" as ChangeId, site: "mark", at: START, ops });
        nest.fate = () => "go";
      }
      return "go";
    };
    await nest.tell("one");
    expect(await nest.states()).toEqual(["aborted"]);
    await nest.tell("two");
    await nest.tell("three");
    expect(await nest.states()).toEqual(["aborted", "failed", "failed"]);
    expect(nest.shown()).toHaveLength(1);
  });

  it("limits the length of an answer to what fits", async () => {
    const nest = await Nest.open(within({ agent: { dollars: dollars(6_000) } }));
    await nest.tell("hi");
    const limit = nest.requests[0]?.maxTokens ?? 0;
    expect(limit).toBeGreaterThan(10);
    expect(limit).toBeLessThan(600);
  });

  it("is looked at before every call of a run: what tools did before is kept", async () => {
    const call: Reply = {
      content: [{ type: "toolCall", id: "c1", name: "look", arguments: {} }],
      stopReason: "tool_calls",
      usage: used(100, 90),
    };
    const nest = await Nest.open(
      within({ tree: { dollars: dollars(1_100) } }, { tools: { look: {} }, script: () => call }),
    );
    await nest.tell("go");
    expect(nest.executions).toHaveLength(1);
    expect(nest.requests).toHaveLength(1);
    expect(await nest.transcript()).toEqual(["user: go", "assistant: look()", "tool: look done"]);
    expect((await nest.runs())[0]?.body.error?.kind).toBe("budget");
    await nothingReserved(nest);
  });
});

describe("a tree's budget", () => {
  it("is shared by its children: the second waits for the first, and nothing passes the limit", async () => {
    const gates = [gate<Reply>(), gate<Reply>()];
    let calls = 0;
    const nest = await Nest.open(
      within(
        { tree: { dollars: dollars(11_500) } },
        { script: (call) => (calls < 2 ? stall(call, gates[calls++]?.promise as Promise<Reply>) : answer("done")) },
      ),
    );
    gates[0]?.open(answer("root"));
    await nest.tell("hi");
    calls = 1;
    const root = await nest.agentId();
    for (const id of ["x", "y"]) {
      await nest.system.post({ to: { descriptor: child(root, id) }, body: { kind: "system", text: `work ${id}` } });
    }
    await nest.settle();
    expect(nest.requests).toHaveLength(2);
    const tree = `tree:${root}`;
    const row = await nest.store.budget(tree);
    expect((row?.spent.micros ?? 0) + (row?.reserved.micros ?? 0)).toBeLessThanOrEqual(11_500);
    await nest.advance(2_000);
    expect(nest.requests).toHaveLength(2);
    gates[1]?.open(answer("x done"));
    await nest.settle();
    await nest.advance(4_000);
    expect(nest.requests).toHaveLength(3);
    expect(await nest.store.budget(tree)).toMatchObject({ spent: { micros: 3_000 } });
    const { by } = await spentSince(nest, START);
    expect(by.map(({ rootId, tokens }) => [rootId, tokens])).toEqual([root, root, root].map((id) => [id, 190]));
    expect(await nest.store.budget(`agent:${root}`)).toBeUndefined();
    await nothingReserved(nest);
  });

  it("ends a child's run as it ends its parent's, and a child works for whoever wrote to its parent", async () => {
    const nest = await Nest.open(within({ tree: { dollars: dollars(2_100) }, person: { dollars: 1 } }));
    const sender = { id: "carl" };
    await nest.send({ kind: "user", text: "hi", sender }, { source: { connector: "test", messageId: "1" } });
    await nest.settle();
    const root = await nest.agentId();
    const to = { descriptor: child(root, "x") };
    await nest.system.post({ to, body: { kind: "system", text: "work" } });
    await nest.settle();
    expect((await nest.store.budget("person:2026-01-05:test:carl"))?.spent.micros).toBe(2_000);
    const posted = await nest.system.post({ to, body: { kind: "system", text: "more" } });
    await nest.settle();
    if (posted.status === "stale") throw new TypeError("stale");
    const [run] = await nest.store.runs(posted.agentId, { limit: 1 });
    expect(run?.body.error?.kind).toBe("budget");
  });
});

describe("a call whose result is not simply there", () => {
  it.each(["before", "after"] as const)("is charged once where the process dies %s its reservation", async (moment) => {
    const nest = await Nest.open(within({ agent: { dollars: 1 } }));
    nest.fate = dieAt("reserve", moment);
    await nest.tell("hi");
    expect(nest.requests).toHaveLength(0);
    await nest.restart();
    expect(nest.shown()).toEqual(["answer to hi"]);
    const row = await nest.store.budget(await keyOf(nest, "agent"));
    if (moment === "before") expect(row).toMatchObject({ spent: { micros: 1_000 }, estimated: { micros: 0 } });
    else {
      expect(row?.estimated.micros).toBeGreaterThan(10_000);
      expect(row?.spent.micros).toBe((row?.estimated.micros ?? 0) + 1_000);
    }
    await nothingReserved(nest);
  });

  it("is charged as an estimate where the process dies while it is under way", async () => {
    const nest = await Nest.open(within({ agent: { dollars: 1 } }, { script: () => new Promise<never>(() => {}) }));
    await nest.tell("hi");
    nest.script = () => answer("at last");
    await nest.restart();
    const row = await nest.store.budget(await keyOf(nest, "agent"));
    expect(row?.estimated.micros).toBeGreaterThan(10_000);
    await nothingReserved(nest);
  });

  it("counts for its run what its provider counted, also where it broke off", async () => {
    const broke: Reply = { ...failure("transient"), usage: used(100, 10) };
    const nest = await Nest.open({ script: inTurn(broke, answer("ok")) });
    await nest.tell("hi");
    await nest.advance(2_000);
    expect(nest.shown()).toEqual(["ok"]);
    expect((await nest.runs())[0]?.body.usage?.totalTokens).toBe(300);
  });

  it("frees what it had reserved while it waits to be made again, and costs nothing where it was refused", async () => {
    const nest = await Nest.open(
      within(
        { agent: { dollars: 1 } },
        { script: inTurn({ ...failure("rate", { retryAfterMs: 60_000 }), usage: undefined }, answer("ok")) },
      ),
    );
    await nest.tell("hi");
    await nothingReserved(nest);
    expect(sites(nest).filter((site) => site === "settle")).toHaveLength(1);
    await nest.advance(60_000);
    expect(nest.shown()).toEqual(["ok"]);
    expect(await nest.store.budget(await keyOf(nest, "agent"))).toMatchObject({ spent: { micros: 1_000 } });
  });

  it.each([
    ["is charged what was heard of it where it was aborted", false],
    ["is charged all that was reserved where the model does not stop", true],
  ])("%s", async (_, deaf) => {
    const nest = await Nest.open(within({ agent: { dollars: 1 } }));
    nest.script = deaf
      ? () => new Promise<never>(() => {})
      : async (call) => ({
          ...((await stall(call, new Promise<Reply>(() => {}), "half an answer")) as object),
          usage: undefined,
        });
    await nest.tell("hi");
    const [run] = await nest.runs();
    if (run) await nest.system.abort(run.id);
    await nest.settle();
    await nest.advance(10_000);
    expect(await nest.states()).toEqual(["aborted"]);
    const row = await nest.store.budget(await keyOf(nest, "agent"));
    expect(row?.estimated).toEqual(row?.spent);
    if (deaf) expect(row?.spent.micros).toBeGreaterThan(10_000);
    else expect(row?.spent.micros).toBeLessThan(1_000);
    expect(row?.spent.micros).toBeGreaterThan(50);
    await nothingReserved(nest);
  });

  it("is settled where a drain sets the run aside, and reserved anew when it goes on", async () => {
    const nest = await Nest.open(
      within({ agent: { dollars: 1 } }, { script: (call) => stall(call, new Promise<Reply>(() => {})) }),
    );
    await nest.tell("hi");
    await nest.drain();
    await nothingReserved(nest);
    nest.script = () => answer("ok");
    await nest.restart();
    expect(nest.shown()).toEqual(["ok"]);
    await nothingReserved(nest);
  });
});

describe("the book", () => {
  it("lists what was spent, and since when by whom, also where nothing is limited", async () => {
    const nest = await Nest.open(within({ agent: { dollars: 1 } }));
    await nest.tell("hi");
    await nest.tell("hi", { name: "ben" });
    const ports = nest.ports({ alive: true, name: "desk" });
    const limits = limitsOf({ agent: { dollars: 1 } });
    const listed = await listBudgets(ports, limits);
    expect(listed.map(({ scope, spent, allowed }) => [scope, spent.micros, allowed])).toEqual([
      ["agent", 1_000, { micros: 1_000_000 }],
      ["agent", 1_000, { micros: 1_000_000 }],
    ]);
    const since = await spentSince(ports, START);
    expect(since).toMatchObject({ tokens: 380, by: [{ runs: 1 }, { runs: 1 }] });
    expect(since.dollars).toBeCloseTo(0.002, 9);
  });

  it("says what cannot be lifted", async () => {
    const nest = await Nest.open(within({ agent: { dollars: 1 } }));
    const ports = nest.ports({ alive: true, name: "desk" });
    const limits = limitsOf({ agent: { dollars: 1 } });
    await expect(liftBudget(ports, limits, "nonsense")).rejects.toMatchObject({ code: "invalid_input" });
    await expect(liftBudget(ports, limits, "day:2026-01-05")).rejects.toThrow("budgets.day is not limited");
    await expect(liftBudget(ports, limits, "agent:nobody")).rejects.toMatchObject({ code: "not_found" });
    expect(await liftBudget(ports, limits, "day:2026-01-05", { tokens: 5 })).toMatchObject({
      lifted: { tokens: 5, micros: 0 },
    });
  });
});
