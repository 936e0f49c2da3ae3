/** Which budgets a model call is reserved on before it starts: those of the configuration, of the request, of the person. */

import { describe, expect, it, test } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { modelResult } from "../../../test/kit/model.ts";
import { testSettings } from "../../../test/kit/settings.ts";
import type { Budgets, Limit, Limits } from "../../core/budget/budget.ts";
import type { BudgetDecision } from "../../core/budget/budget-decision.ts";
import type { PersonId } from "../../core/people/person.ts";
import type { CallPrice, ModelRequest } from "../../core/ports/model.ts";
import type { RunBody } from "../../core/run/run.ts";
import type { Op } from "../../core/store/change.ts";
import { LiveRun } from "../runtime/live-run.ts";
import { askPermission, isSpendingLimited, settleCall } from "./budget-gate.ts";

type Reserve = Extract<Op, { op: "budget.reserve" }>;
const ANN = "ann" as PersonId;
const request: ModelRequest = { model: "m", system: "x".repeat(200), messages: [], tools: [], sessionId: "s" };
const GO: BudgetDecision = { kind: "go", reserved: { tokens: 9, micros: 1 }, maxTokens: 50 };

interface Given {
  readonly limits?: Limits;
  readonly ofRecord?: Limit;
  readonly body?: Partial<RunBody>;
  readonly decisions?: readonly BudgetDecision[];
  readonly price?: CallPrice;
  readonly told?: boolean;
}

function world({ limits = {}, ofRecord, body = {}, decisions = [GO], price, told = false }: Given) {
  const clock = virtualClock();
  const reserved: Reserve[] = [];
  const owed: Op[] = [];
  const agent = {
    ...{ id: "a1", profile: "main" },
    descriptor: { type: "user", connector: "test", userId: "7", channelId: "7" },
  };
  const budgets: Budgets = {
    limitsFor: () => limits,
    dayOf: () => "d",
    personNow: async (id) => ({ id: id === "test:7" ? ANN : id, limit: ofRecord }),
  };
  const ports = {
    ...{
      budgets: () => budgets,
      clock,
      store: {},
      ids: { uuid: () => `id${reserved.length}` },
      log: { debug: () => {} },
    },
    model: { price: price && (async () => price) },
  } as never;
  const lease = {
    record: agent,
    commit: async ({ ops }: { ops: readonly Op[] }) => {
      reserved.push(ops[0] as Reserve);
      const decision = decisions[Math.min(reserved.length, decisions.length) - 1];
      return { ok: true, results: [{ op: "budget.reserve", decision, told }] };
    },
    alsoCommit: (op: Op) => void owed.push(op),
  } as never;
  const full = { lane: "main", seqs: [1], calls: [], iterations: 0, deliveries: 0, ...body } as RunBody;
  const ids = { id: "r1", agentId: "a1", sessionId: "s", startedAt: 0, step: 1, attempt: 1 };
  const run = new LiveRun({ ...ids, body: full } as never, testSettings().current, {
    timeoutMs: 1_000,
    maxIterations: 9,
  });
  const ask = () => askPermission(ports, lease, run, request);
  const keys = () => reserved.map(({ rows }) => rows.map(({ key }) => key));
  return { ask, keys, reserved, owed, clock, run, lease, budgets, agent: agent as never };
}

describe("a model call", () => {
  test.each<[string, Given, readonly string[]]>([
    ["without any limit", {}, []],
    ["of a person whose record has no limit", { body: { behalf: { person: ANN } } }, []],
    ["with an empty limit", { limits: { agent: {} } }, []],
    ["under a limit of its agent", { limits: { agent: { tokens: 5 } } }, ["agent:a1"]],
    [
      "under limits of the day and the profile",
      { limits: { day: { micros: 5 }, profile: { tokens: 1 } } },
      ["profile:d:main", "day:d"],
    ],
    [
      "under a limit of the person, of a run that names no one",
      { limits: { person: { tokens: 5 } } },
      ["person:d:test:7"],
    ],
    [
      "under a limit of the person, who has a record by now",
      { limits: { person: { tokens: 5 } }, body: { behalf: { person: "test:7" as PersonId } } },
      ["person:d:ann"],
    ],
    [
      "under a limit of the person's record alone",
      { ofRecord: { tokens: 5 }, body: { behalf: { person: ANN } } },
      ["person:d:ann"],
    ],
    ["under a limit of a record, of a run that names no one", { ofRecord: { tokens: 5 } }, []],
    [
      "under the limit of a token that came with the request alone",
      { body: { behalf: { person: ANN, limits: [{ of: "token", id: "t", tokens: 5 }] } } },
      ["token:d:t"],
    ],
    [
      "under limits of a token and of the record",
      { ofRecord: { tokens: 9 }, body: { behalf: { person: ANN, limits: [{ of: "token", id: "t", tokens: 5 }] } } },
      ["token:d:t", "person:d:ann"],
    ],
    ["that takes no message of a person, where only messages are limited", { limits: { day: { messages: 1 } } }, []],
  ])("%s is reserved on exactly these rows", async (_title, given, rows) => {
    const { ask, keys, budgets, agent, run } = world(given);
    const permission = await ask();
    expect(permission.kind).toBe("go");
    expect(keys()).toEqual(rows.length === 0 ? [] : [rows]);
    expect("permit" in permission && permission.permit !== undefined).toBe(rows.length > 0);
    const onlyMessages = given.limits?.day?.messages !== undefined;
    expect(await isSpendingLimited(budgets, agent, run.body.behalf)).toBe(rows.length > 0 || onlyMessages);
  });

  it("counts the messages of people once: the next call of the run adds none", async () => {
    const { ask, reserved, run } = world({ limits: { day: { messages: 9 } }, body: { seqs: [1, 2], humanAt: 1 } });
    await ask();
    expect(reserved[0]).toMatchObject({ rows: [{ adds: 2 }], counted: { counted: 2 } });
    expect(run.body.counted).toBe(2);
    await ask();
    expect(reserved).toHaveLength(1);
  });

  it("counts them once also where tokens are limited too, however many calls the run makes", async () => {
    const limits = { agent: { tokens: 5 }, day: { messages: 9 } };
    const { ask, reserved, run } = world({ limits, body: { seqs: [1, 2], humanAt: 1 } });
    for (let calls = 0; calls < 3; calls++) await ask();
    expect(reserved.map(({ rows }) => rows.map(({ adds }) => adds))).toEqual([
      [undefined, 2],
      [undefined],
      [undefined],
    ]);
    expect(reserved.map(({ counted }) => counted?.counted)).toEqual([2, undefined, undefined]);
    expect(run.body.counted).toBe(2);
  });

  it("that waits over midnight is reserved on the next day", async () => {
    const wait: BudgetDecision = { kind: "wait", key: "day:d" };
    const { ask, keys, clock, budgets } = world({ limits: { day: { tokens: 5 } }, decisions: [wait, wait, GO] });
    const midnight = clock.now() + 200;
    Object.assign(budgets, { dayOf: (at: number) => (at < midnight ? "today" : "tomorrow") });
    const asked = ask();
    await clock.advance(400, () => new Promise((resolve) => setImmediate(resolve)));
    expect(await asked).toMatchObject({ kind: "go", permit: { id: "id2" } });
    expect(keys()).toEqual([["day:today"], ["day:today"], ["day:tomorrow"]]);
  });

  it("does not count its messages if it may not start", async () => {
    const reached: BudgetDecision = {
      ...{ kind: "reached", key: "agent:a1", allowed: { tokens: 5 } },
      ...{ spent: { tokens: 5, micros: 0 }, needed: { tokens: 9, micros: 0 } },
    };
    const limits = { agent: { tokens: 5 }, day: { messages: 9 } };
    const { ask, run } = world({ limits, body: { humanAt: 1 }, decisions: [reached], told: true });
    expect(await ask()).toMatchObject({ kind: "reached", reached: { key: "agent:a1", announced: true } });
    expect(run.body.counted).toBeUndefined();
  });

  it("is reserved at the price of its model, with the whole prompt", async () => {
    const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
    const price = { contextWindow: 1_000, maxTokens: 80, leastTokens: 10, cost };
    const { ask, reserved } = world({ limits: { agent: { tokens: 5 } }, price });
    expect(await ask()).toMatchObject({ permit: { maxTokens: 50, reserved: { tokens: 9, micros: 1 } } });
    expect(reserved[0]?.call).toEqual({ prompt: 100, maxTokens: 80, leastTokens: 10, read: 3.75, write: 15 });
  });

  it("waits twice as long each time, at most three seconds, while other calls hold the rest of a budget", async () => {
    const wait: BudgetDecision = { kind: "wait", key: "agent:a1" };
    const { ask, reserved, clock } = world({
      ...{ limits: { agent: { tokens: 5 } }, decisions: [...Array.from({ length: 8 }, () => wait), GO] },
    });
    const start = clock.now();
    const times: number[] = [];
    const turn = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (reserved.length > times.length) times.push(clock.now() - start);
    };
    const asked = ask();
    await turn();
    for (let n = 0; n < 150; n++) await clock.advance(100, turn);
    expect((await asked).kind).toBe("go");
    expect(times).toEqual([0, 100, 300, 700, 1_500, 3_100, 6_100, 9_100, 12_100]);
  });

  it("stops waiting when its run is asked to end, and reserves nothing more", async () => {
    const { ask, reserved, run } = world({
      ...{ limits: { agent: { tokens: 5 } }, decisions: [{ kind: "wait", key: "agent:a1" }] },
    });
    const asked = ask();
    await new Promise((resolve) => setImmediate(resolve));
    run.end("person");
    expect((await asked).kind).toBe("ended");
    expect(reserved).toHaveLength(1);
  });
});

describe("the charge of an ended call", () => {
  const permit = {
    ...{ id: "p", maxTokens: 50, reserved: { tokens: 150, micros: 0 } },
    call: { prompt: 100, maxTokens: 50, leastTokens: 10, read: 0, write: 0 },
  };
  const usage = { input: 5, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 7 };

  test.each([
    ["is what the provider counted", { usage }, { actual: { tokens: 7, micros: 0 }, estimated: undefined }],
    ["is an estimate if it did not count", { content: [] }, { actual: { tokens: 100, micros: 0 }, estimated: true }],
    ["is unknown if nobody heard the end", { unheard: true }, { actual: "unknown" }],
  ])("%s, and goes with the run's next commit", (_title, more, charged) => {
    const { lease, owed } = world({});
    settleCall(lease, permit, { ...modelResult("x"), content: [], usage: undefined, ...more } as never);
    expect(owed).toEqual([{ op: "budget.settle", id: "p", ...charged }]);
  });
});
