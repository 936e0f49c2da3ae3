import { describe, expect, it } from "vitest";
import { START } from "../../../test/kit/clock.ts";
import { TestEngine, type TestEngineOptions } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, inTurn, lastText, type Reply, stall } from "../../../test/kit/model.ts";
import type { SettingsPart } from "../../../test/kit/settings.ts";
import { dieAt } from "../../../test/kit/store.ts";
import type { AgentDescriptor } from "../../core/agent/descriptor.ts";
import { limitsOf } from "../../core/budget/budget.ts";
import type { AgentId, ChangeId } from "../../core/ids.ts";
import { joined } from "../../core/people/behalf.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { CallPrice, ModelResult } from "../../core/ports/model.ts";
import { liftBudget, listBudgets, spentSince } from "../budgets/budget-book.ts";

/** An input token costs 1 micro, an output token 10; an answer has up to 1,000 tokens. */
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
/** 100 input and 90 output tokens: 1,000 micros. */
const answer = (text: string): Partial<ModelResult> => ({ content: [{ type: "text", text }], usage: used(100, 90) });

const within = (limits: SettingsPart["budgets"], more: TestEngineOptions = {}): TestEngineOptions => ({
  script: ({ request }) => answer(`answer to ${lastText(request)}`),
  price: PRICE,
  ...more,
  settings: { ...more.settings, budgets: limits },
});
const dollars = (micros: number) => micros / 1e6;
const keyOf = async (engine: TestEngine, scope: "agent" | "tree", name = "ann") =>
  `${scope}:${await engine.agentId(name)}`;
const nothingReserved = async (engine: TestEngine) => {
  expect(await engine.store.reservations({ limit: 10 })).toEqual([]);
  for (const { reserved } of await engine.store.budgets({ limit: 100 }))
    expect(reserved).toEqual({ tokens: 0, micros: 0 });
};
const child = (parent: AgentId, id: string): AgentDescriptor => ({
  type: "subagent",
  id,
  parentAgentId: parent,
  name: id,
});

describe("a budget", () => {
  it("costs no commit if none is configured", async () => {
    const engine = await TestEngine.open({ price: PRICE });
    await engine.tell("hi");
    const unlimited = await TestEngine.open(within({}));
    await unlimited.tell("hi");
    expect(unlimited.commits).toHaveLength(engine.commits.length);
    expect(await unlimited.store.budgets({ limit: 10 })).toEqual([]);
    expect(unlimited.requests[0]?.maxTokens).toBeUndefined();
  });

  it("is reserved before the call and settled with its result", async () => {
    const during: unknown[] = [];
    const engine: TestEngine = await TestEngine.open(
      within(
        { agent: { dollars: 1 }, tree: { tokens: 1e6 }, person: { dollars: 2 }, day: { tokens: 1e6 } },
        {
          script: async ({ request }) => {
            for (const { key, reserved } of await engine.store.budgets({ limit: 10 }))
              during.push([key, reserved.micros > 10_000]);
            return answer(lastText(request));
          },
        },
      ),
    );
    await engine.tell("hi");
    const id = await engine.agentId();
    expect(during).toEqual([
      [`agent:${id}`, true],
      ["day:2026-01-05", true],
      ["person:2026-01-05:test:ann", true],
      [`tree:${id}`, true],
    ]);
    expect(engine.requests[0]?.maxTokens).toBe(1_000);
    for (const { spent, estimated } of await engine.store.budgets({ limit: 10 })) {
      expect(spent).toEqual({ tokens: 190, micros: 1_000 });
      expect(estimated.micros).toBe(0);
    }
    await nothingReserved(engine);
  });

  it("ends the run when it is used up, sends one message about it, and can be lifted", async () => {
    const engine = await TestEngine.open(within({ agent: { dollars: dollars(2_100) } }));
    for (const text of ["one", "two", "three", "four"]) await engine.tell(text);
    const shown = engine.shown();
    expect(shown.slice(0, 2)).toEqual(["answer to one", "answer to two"]);
    expect(shown).toHaveLength(3);
    expect(shown[2]).toContain("The budget of this agent is nearly used up");
    expect(shown[2]).toContain("$0.0020 of $0.0021");
    expect(await engine.states()).toEqual(["answered", "answered", "failed", "failed"]);
    const [, , third, fourth] = await engine.runs();
    expect(third?.body.error?.kind).toBe("budget");
    expect(fourth).toMatchObject({ outcome: "error", body: { error: { kind: "budget" } } });
    expect(engine.requests).toHaveLength(2);

    const key = await keyOf(engine, "agent");
    const limits = limitsOf({ agent: { dollars: dollars(2_100) } });
    const ports = engine.ports({ alive: true, name: "desk" });
    expect(await liftBudget(ports, limits, key)).toMatchObject({ key, allowed: { micros: 4_200 }, scope: "agent" });
    for (const text of ["five", "six", "seven", "eight"]) await engine.tell(text);
    expect(engine.shown().slice(3, 5)).toEqual(["answer to five", "answer to six"]);
    expect(engine.shown()).toHaveLength(6);
    expect(engine.shown()[5]).toContain("used up");
    await nothingReserved(engine);
  });

  it("sends a message to each conversation that reaches it, and none for a run without a delivery", async () => {
    const engine = await TestEngine.open(within({ day: { dollars: dollars(1_500) } }));
    await engine.tell("one");
    await engine.tell("unheard", { delivery: undefined });
    await engine.tell("two");
    await engine.tell("hello", { name: "ben" });
    await engine.tell("again", { name: "ben" });
    const told = engine.channel().calls.map(({ target, payload }) => `${target.to}: ${payload.text?.slice(0, 20)}`);
    expect(told).toEqual(["ann: answer to one", "ann: The budget for today", "ben: The budget for today"]);
    await engine.advance(24 * 3600_000);
    await engine.tell("next day");
    expect(engine.shown().at(-1)).toBe("answer to next day");
  });

  it("sends its message to the next person who writes if the run that reached it was aborted", async () => {
    const engine = await TestEngine.open(within({ agent: { dollars: dollars(10) } }));
    engine.onCommit = (change) => {
      const run = change.site === "end.failed" ? change.owner?.run : undefined;
      const mark = { reason: "person", at: START } as const;
      if (run) {
        const ops = [{ op: "run.abort", runId: run.id, mark }] as const;
        void engine.store.commit({ id: "mark" as ChangeId, site: "mark", at: START, ops });
        engine.onCommit = () => "go";
      }
      return "go";
    };
    await engine.tell("one");
    expect(await engine.states()).toEqual(["aborted"]);
    await engine.tell("two");
    await engine.tell("three");
    expect(await engine.states()).toEqual(["aborted", "failed", "failed"]);
    expect(engine.shown()).toHaveLength(1);
  });

  it("limits the length of an answer to the rest of the budget", async () => {
    const engine = await TestEngine.open(within({ agent: { dollars: dollars(6_000) } }));
    await engine.tell("hi");
    const limit = engine.requests[0]?.maxTokens ?? 0;
    expect(limit).toBeGreaterThan(10);
    expect(limit).toBeLessThan(600);
  });

  it("limits every call of a run and keeps earlier tool results", async () => {
    const call: Reply = {
      content: [{ type: "toolCall", id: "c1", name: "look", arguments: {} }],
      stopReason: "tool_calls",
      usage: used(100, 90),
    };
    const engine = await TestEngine.open(
      within({ tree: { dollars: dollars(1_100) } }, { tools: { look: {} }, script: () => call }),
    );
    await engine.tell("go");
    expect(engine.executions).toHaveLength(1);
    expect(engine.requests).toHaveLength(1);
    expect(await engine.transcript()).toEqual(["user: go", "assistant: look()", "tool: look done"]);
    expect((await engine.runs())[0]?.body.error?.kind).toBe("budget");
    await nothingReserved(engine);
  });
});

describe("a tree's budget", () => {
  it("is shared by its children: the second waits for the first, and no call exceeds the limit", async () => {
    const gates = [gate<Reply>(), gate<Reply>()];
    let calls = 0;
    const engine = await TestEngine.open(
      within(
        { tree: { dollars: dollars(11_500) } },
        { script: (call) => (calls < 2 ? stall(call, gates[calls++]?.promise as Promise<Reply>) : answer("done")) },
      ),
    );
    gates[0]?.open(answer("root"));
    await engine.tell("hi");
    calls = 1;
    const root = await engine.agentId();
    for (const id of ["x", "y"]) {
      await engine.system.post({ to: { descriptor: child(root, id) }, body: { kind: "system", text: `work ${id}` } });
    }
    await engine.settle();
    expect(engine.requests).toHaveLength(2);
    const tree = `tree:${root}`;
    const row = await engine.store.budget(tree);
    expect((row?.spent.micros ?? 0) + (row?.reserved.micros ?? 0)).toBeLessThanOrEqual(11_500);
    await engine.advance(2_000);
    expect(engine.requests).toHaveLength(2);
    gates[1]?.open(answer("x done"));
    await engine.settle();
    await engine.advance(4_000);
    expect(engine.requests).toHaveLength(3);
    expect(await engine.store.budget(tree)).toMatchObject({ spent: { micros: 3_000 } });
    const { by } = await spentSince(engine, START);
    expect(by.map(({ rootId, tokens }) => [rootId, tokens])).toEqual([root, root, root].map((id) => [id, 190]));
    expect(await engine.store.budget(`agent:${root}`)).toBeUndefined();
    await nothingReserved(engine);
  });

  it("ends a child's run like its parent's, and counts a child's work for the person it is for", async () => {
    const engine = await TestEngine.open(within({ tree: { dollars: dollars(2_100) }, person: { dollars: 1 } }));
    const sender = { connector: "test", userId: "carl" };
    const behalf = { person: "test:carl" as PersonId };
    await engine.send({ kind: "user", text: "hi" }, { source: { connector: "test", messageId: "1" }, sender });
    await engine.settle();
    const root = await engine.agentId();
    const to = { descriptor: child(root, "x") };
    await engine.system.post({ to, behalf, body: { kind: "system", text: "work" } });
    await engine.settle();
    expect((await engine.store.budget("person:2026-01-05:test:carl"))?.spent.micros).toBe(2_000);
    const posted = await engine.system.post({ to, behalf, body: { kind: "system", text: "more" } });
    await engine.settle();
    if (posted.status === "stale") throw new TypeError("stale");
    const [run] = await engine.store.runs(posted.agentId, { limit: 1 });
    expect(run?.body.error?.kind).toBe("budget");
  });
});

describe("an interrupted or failed call", () => {
  it.each(["before", "after"] as const)("is charged once if the process dies %s its reservation", async (moment) => {
    const engine = await TestEngine.open(within({ agent: { dollars: 1 } }));
    engine.onCommit = dieAt("reserve", moment);
    await engine.tell("hi");
    expect(engine.requests).toHaveLength(0);
    await engine.restart();
    expect(engine.shown()).toEqual(["answer to hi"]);
    const row = await engine.store.budget(await keyOf(engine, "agent"));
    if (moment === "before") expect(row).toMatchObject({ spent: { micros: 1_000 }, estimated: { micros: 0 } });
    else {
      expect(row?.estimated.micros).toBeGreaterThan(10_000);
      expect(row?.spent.micros).toBe((row?.estimated.micros ?? 0) + 1_000);
    }
    await nothingReserved(engine);
  });

  it("is charged as an estimate if the process dies during the call", async () => {
    const engine = await TestEngine.open(
      within({ agent: { dollars: 1 } }, { script: () => new Promise<never>(() => {}) }),
    );
    await engine.tell("hi");
    engine.script = () => answer("at last");
    await engine.restart();
    const row = await engine.store.budget(await keyOf(engine, "agent"));
    expect(row?.estimated.micros).toBeGreaterThan(10_000);
    await nothingReserved(engine);
  });

  it("adds the usage that the provider reported to its run, even if the call broke off", async () => {
    const broke: Reply = { ...failure("transient"), usage: used(100, 10) };
    const engine = await TestEngine.open({ script: inTurn(broke, answer("ok")) });
    await engine.tell("hi");
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["ok"]);
    expect((await engine.runs())[0]?.body.usage?.totalTokens).toBe(300);
  });

  it("frees its reservation while it waits for the retry, and costs nothing if the provider refused it", async () => {
    const engine = await TestEngine.open(
      within(
        { agent: { dollars: 1 } },
        { script: inTurn({ ...failure("rate", { retryAfterMs: 60_000 }), usage: undefined }, answer("ok")) },
      ),
    );
    await engine.tell("hi");
    await nothingReserved(engine);
    await engine.advance(60_000);
    expect(engine.shown()).toEqual(["ok"]);
    expect(await engine.store.budget(await keyOf(engine, "agent"))).toMatchObject({ spent: { micros: 1_000 } });
  });

  it.each([
    ["is charged for the received part if it was aborted", false],
    ["is charged the whole reservation if the model does not react to the abort", true],
  ])("%s", async (_, deaf) => {
    const engine = await TestEngine.open(within({ agent: { dollars: 1 } }));
    engine.script = deaf
      ? () => new Promise<never>(() => {})
      : async (call) => ({
          ...((await stall(call, new Promise<Reply>(() => {}), "half an answer")) as object),
          usage: undefined,
        });
    await engine.tell("hi");
    const [run] = await engine.runs();
    if (run) await engine.system.runs.abort(run.id);
    await engine.settle();
    await engine.advance(10_000);
    expect(await engine.states()).toEqual(["aborted"]);
    const row = await engine.store.budget(await keyOf(engine, "agent"));
    expect(row?.estimated).toEqual(row?.spent);
    if (deaf) expect(row?.spent.micros).toBeGreaterThan(10_000);
    else expect(row?.spent.micros).toBeLessThan(1_000);
    expect(row?.spent.micros).toBeGreaterThan(50);
    await nothingReserved(engine);
  });

  it("is settled when a drain suspends the run, and reserved again when the run resumes", async () => {
    const engine = await TestEngine.open(
      within({ agent: { dollars: 1 } }, { script: (call) => stall(call, new Promise<Reply>(() => {})) }),
    );
    await engine.tell("hi");
    await engine.drain();
    await nothingReserved(engine);
    engine.script = () => answer("ok");
    await engine.restart();
    expect(engine.shown()).toEqual(["ok"]);
    await nothingReserved(engine);
  });
});

describe("budget administration", () => {
  it("lists what each person has spent since a given time, even without limits", async () => {
    const engine = await TestEngine.open(within({ agent: { dollars: 1 } }));
    await engine.tell("hi");
    await engine.tell("hi", { name: "ben" });
    const ports = engine.ports({ alive: true, name: "desk" });
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

  it("refuses to lift a budget that is invalid, unlimited or unknown, with the reason", async () => {
    const engine = await TestEngine.open(within({ agent: { dollars: 1 } }));
    const ports = engine.ports({ alive: true, name: "desk" });
    const limits = limitsOf({ agent: { dollars: 1 } });
    await expect(liftBudget(ports, limits, "nonsense")).rejects.toMatchObject({ code: "invalid_input" });
    await expect(liftBudget(ports, limits, "day:2026-01-05")).rejects.toThrow("does not limit day:2026-01-05");
    await expect(liftBudget(ports, limits, "agent:nobody")).rejects.toMatchObject({ code: "not_found" });
    expect(await liftBudget(ports, limits, "day:2026-01-05", { tokens: 5 })).toMatchObject({
      lifted: { tokens: 5, micros: 0 },
    });
  });
});

describe("the limits of people", () => {
  const behalf = { person: "telegram:42" as PersonId };
  const ann = {
    id: "ann",
    role: "guest",
    accounts: ["telegram:42"],
    grants: [],
    createdAt: 1,
    createdBy: "owner",
  } as const;
  const known = async (limits: object, more: TestEngineOptions = {}) => {
    const engine = await TestEngine.open(within({}, more));
    const ops = [{ op: "person.put", person: { ...ann, limits } }] as const;
    await engine.store.commit({ id: "person" as ChangeId, site: "test", at: 1, ops });
    return engine;
  };
  const spent = async (engine: TestEngine, key: string) => (await engine.store.budget(key))?.spent;
  const day = new Date(START).toISOString().slice(0, 10);

  it("come from their record, whichever account they write with, and name who can lift them", async () => {
    const engine = await known({ messagesPerDay: 2, dollarsPerDay: 1 });
    for (let n = 0; n < 3; n++) await engine.tell(`m${n}`, { behalf });
    const runs = await engine.runs();
    expect(runs.map(({ outcome }) => outcome).sort()).toEqual(["error", "ok", "ok"]);
    expect(runs.find(({ outcome }) => outcome === "error")?.body.error?.message).toBe(
      `The budget of messages of ann for today is used up: 2 of 2 messages. The owner can lift it: rookery usage lift messages:${day}:person:ann --messages N`,
    );
    expect(await spent(engine, `person:${day}:ann`)).toEqual({ tokens: 380, micros: 2_000 });
    expect(await spent(engine, `messages:${day}:person:ann`)).toEqual({ tokens: 2, micros: 0 });
  });

  it("add no commit for a person whose record has none", async () => {
    const engine = await known({});
    await engine.tell("hi", { behalf });
    expect(await engine.store.budgets({ limit: 9 })).toEqual([]);
  });
});

describe("a profile's budget", () => {
  it("is shared by its agents, day by day", async () => {
    const engine = await TestEngine.open(within({ profile: { messages: 2, dollars: 1 } }));
    for (const name of ["ann", "bob", "cid"]) await engine.tell("hi", { name });
    const last = (await engine.runs(await engine.agentId("cid")))[0];
    expect(last?.body.error?.message).toMatch(
      /The budget of messages of the profile main for today is used up: 2 of 2 messages/,
    );
    expect((await engine.store.budgets({ limit: 9 })).map(({ key }) => key)).toEqual([
      expect.stringMatching(/^messages:[\d-]+:profile:main$/),
      expect.stringMatching(/^profile:[\d-]+:main$/),
    ]);
  });
});

it("can be lifted as its message says if it is too small for the first call", async () => {
  const engine = await TestEngine.open(within({ agent: { tokens: 5 } }));
  await engine.tell("one");
  const [, key = ""] = /usage lift (\S+) --tokens/u.exec(engine.shown()[0] ?? "") ?? [];
  expect(key).toBe(await keyOf(engine, "agent"));
  const ports = engine.ports({ alive: true, name: "desk" });
  await liftBudget(ports, {}, key, { tokens: 1e6 });
  await engine.tell("two");
  expect(await engine.states()).toEqual(["failed", "answered"]);
  await expect(liftBudget(ports, {}, "agent:nobody", { tokens: 1 })).rejects.toMatchObject({ code: "not_found" });
});

it("starts no call for more limits than can be kept, and says what to do", async () => {
  const engine = await TestEngine.open(within({}));
  const person = "test:ann" as PersonId;
  const limits = (from: number) =>
    Array.from({ length: 40 }, (_, n) => ({ of: "token" as const, id: `t${from + n}`, tokens: 1e6 }));
  await engine.tell("forty", { behalf: { person, limits: limits(0) } });
  const behalf = joined(person, [
    { person, limits: limits(0) },
    { person, limits: limits(40) },
  ]);
  await engine.tell("eighty", { behalf });
  expect(await engine.states()).toEqual(["answered", "failed"]);
  expect(engine.shown()[1]).toContain("send it again in smaller parts");
  await nothingReserved(engine);
  await liftBudget(engine.ports({ alive: true, name: "desk" }), {}, "token:2026-01-05:crowd:*", { tokens: 1e6 });
  await engine.tell("again", { behalf });
  expect(await engine.states()).toEqual(["answered", "failed", "answered"]);
});
