import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TestEngine } from "../../../test/kit/engine.ts";
import { gate } from "../../../test/kit/gate.ts";
import { failure, inTurn, type ModelCall, type Reply, type Script, USAGE } from "../../../test/kit/model.ts";
import type { RunId } from "../../core/ids.ts";
import type { RunEvent } from "../runtime/run-events.ts";

const times = async (engine: TestEngine, until: number, step = 500): Promise<number[]> => {
  const at: number[] = [];
  for (let now = 0; now <= until; now += step) {
    while (at.length < engine.requests.length) at.push(now);
    await engine.advance(step);
  }
  return at;
};

describe("a failed model call", () => {
  it("with a transient error is retried after two and four seconds, then the run fails with the error text", async () => {
    const engine = await TestEngine.open({ script: () => failure("transient") });
    await engine.tell("go");
    expect(await times(engine, 30_000)).toEqual([0, 2_000, 6_000]);
    expect(await engine.states()).toEqual(["failed"]);
    expect(engine.shown()).toHaveLength(1);
  });

  it("with a transient error leaves no trace if a retry succeeds", async () => {
    const engine = await TestEngine.open({ script: inTurn(failure("transient"), failure("transient"), "at last") });
    await engine.tell("go");
    await engine.advance(10_000);
    expect(engine.shown()).toEqual(["at last"]);
    expect(await engine.transcript()).toEqual(["user: go", "assistant: at last"]);
  });

  it("with a rate limit is retried when the provider asks for it", async () => {
    const engine = await TestEngine.open({ script: inTurn(failure("rate", { retryAfterMs: 30_000 }), "at last") });
    await engine.tell("go");
    expect(await times(engine, 40_000)).toEqual([0, 30_000]);
    expect(engine.shown()).toEqual(["at last"]);
  });

  it("with a rate limit is made five times at most", async () => {
    const engine = await TestEngine.open({ script: () => failure("rate", { retryAfterMs: 1_000 }) });
    await engine.tell("go");
    await engine.advance(60_000);
    expect(engine.requests).toHaveLength(5);
    expect(await engine.states()).toEqual(["failed"]);
  });

  it("is retried with exactly the same context", async () => {
    const engine = await TestEngine.open({ script: inTurn(failure("transient"), "fine") });
    await engine.tell("go");
    await engine.advance(5_000);
    expect(engine.sentBytes[1]).toBe(engine.sentBytes[0]);
  });

  it("is not retried if the run is aborted during the wait", async () => {
    const engine = await TestEngine.open({ script: () => failure("transient") });
    await engine.tell("go");
    const [run] = await engine.runs();
    await engine.system.runs.abort(run?.id as RunId);
    await engine.advance(60_000);
    expect(engine.requests).toHaveLength(1);
    expect(await engine.states()).toEqual(["aborted"]);
    expect(engine.shown()).toEqual([]);
  });

  it("does not delay a drain", async () => {
    const engine = await TestEngine.open({ script: inTurn(failure("transient"), "fine") });
    await engine.tell("go");
    await engine.drain();
    await engine.restart();
    expect(engine.shown()).toEqual(["fine"]);
  });

  it("leaves no timer after the run has ended", async () => {
    const engine = await TestEngine.open({ script: inTurn(failure("transient"), "fine") });
    const before = engine.clock.timers;
    await engine.tell("go");
    await engine.advance(5_000);
    expect(engine.clock.timers).toBeLessThanOrEqual(before);
  });
});

describe("a wait before the next call of the model", () => {
  it("is not begun if it is longer than the run may last: the run fails now", async () => {
    const longest = failure("rate", { retryAfterMs: 10_000 });
    const engine = await TestEngine.open({
      script: inTurn(longest, "fine"),
      settings: { runs: { timeoutSeconds: 9.999 } },
    });
    await engine.tell("go");
    expect(await engine.states()).toEqual(["failed"]);
    expect(engine.shown()).toEqual(["Inference failed. rate error"]);
    const patient = await TestEngine.open({
      script: inTurn(longest, "fine"),
      settings: { runs: { timeoutSeconds: 10.001 } },
    });
    await patient.tell("go");
    await patient.advance(10_000);
    expect(patient.shown()).toEqual(["fine"]);
  });

  /** 100,000 micros a day; a call reserves up to 10,100. */
  const limited = (script: Script) =>
    TestEngine.open({
      script,
      price: {
        ...{ contextWindow: 100_000, maxTokens: 1_000, leastTokens: 10 },
        cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
      },
      settings: { budgets: { day: { dollars: 0.1 } } },
    });

  it("holds no reservation, so that it blocks no other call", async () => {
    const engine = await limited(inTurn(failure("transient"), "fine"));
    await engine.tell("go");
    expect(engine.commits.map(({ site }) => site)).toContain("settle");
    expect(await engine.store.reservations({ limit: 10 })).toEqual([]);
    await engine.advance(2_000);
    expect(engine.shown()).toEqual(["fine"]);
  });

  it.each<[string, Script, unknown]>([
    [
      "that throws",
      () => {
        throw new TypeError("no");
      },
      "unknown",
    ],
    ["that never ends", () => new Promise<never>(() => {}), "unknown"],
    ["that says how it failed", () => failure("auth"), { tokens: 15, micros: 60 }],
  ])("of a call %s, what it cost is known or unknown, never guessed", async (_title, script, actual) => {
    const engine = await limited(script);
    await engine.tell("go");
    await engine.system.runs.abort((await engine.runs())[0]?.id as RunId);
    await engine.advance(10_000);
    const settled = engine.commits.flatMap(({ ops }) =>
      ops.flatMap((op) => (op.op === "budget.settle" ? [op.actual] : [])),
    );
    expect(settled).toEqual([actual]);
  });

  it("does not begin if the reservation could not be settled: the agent is read again", async () => {
    const engine = await limited(inTurn(failure("transient"), "fine"));
    engine.onCommit = ({ site }, nth) => (site === "settle" && nth === 1 ? "unknown-lost" : "go");
    await engine.tell("go");
    await engine.advance(1_000);
    expect(engine.shown()).toEqual(["fine"]);
    expect(await engine.states()).toEqual(["answered"]);
  });

  it("counts the usage of calls that failed, and of those that the provider made beside", async () => {
    const failed = { ...failure("transient"), usage: USAGE, alsoUsed: [USAGE] };
    const engine = await TestEngine.open({
      script: inTurn(failed, { content: [{ type: "text", text: "fine" }], alsoUsed: [USAGE] }),
    });
    await engine.tell("go");
    await engine.advance(2_000);
    expect((await engine.runs())[0]?.body.usage).toMatchObject({ input: 40, output: 20 });
  });
});

it("a used budget is announced once, by the first run that answers someone, and ends every run", async () => {
  const engine = await TestEngine.open({
    settings: { budgets: { agent: { tokens: 1 } } },
  });
  await engine.send({ kind: "user", text: "nobody waits" }, { delivery: undefined });
  await engine.settle();
  expect(engine.shown()).toEqual([]);
  await engine.tell("one");
  await engine.tell("two");
  const agentId = await engine.agentId();
  expect(engine.shown()).toEqual([expect.stringContaining("budget")]);
  expect(engine.requests).toEqual([]);
  const errors = (await engine.runs()).map(({ outcome, body }) => [outcome, body.error?.kind]);
  expect(errors).toEqual(Array.from({ length: 3 }, () => ["error", "budget"]));
  const told = engine.commits.flatMap(({ ops }) => ops.filter(({ op }) => op === "budget.told"));
  expect(told).toEqual([{ op: "budget.told", key: `agent:${agentId}` }]);
});

describe("what a model streams", () => {
  const streamed = (events: readonly RunEvent[]): string[] =>
    events.flatMap((event) => {
      if (event.type === "delta") return [`${event.stream} ${event.text}`];
      return event.type === "restart" ? ["restart"] : [];
    });

  it("reaches listeners as deltas of text and thinking, and a restart voids what came before", async () => {
    const events: RunEvent[] = [];
    const engine = await TestEngine.open({
      script: ({ onEvent }) => {
        onEvent({ type: "thinking", delta: "hm" });
        onEvent({ type: "text", delta: "wrong" });
        onEvent({ type: "restart" });
        onEvent({ type: "text", delta: "right" });
        return "right";
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    expect(streamed(events)).toEqual(["thinking hm", "text wrong", "restart", "text right"]);
    expect(engine.shown()).toEqual(["right"]);
  });

  it("is dropped once its call is over, also if the model goes on", async () => {
    const events: RunEvent[] = [];
    const never = gate<Reply>();
    const calls: ModelCall[] = [];
    const engine = await TestEngine.open({
      script: (call) => {
        calls.push(call);
        return calls.length === 1 ? never.promise : "second";
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    await engine.system.runs.abort((await engine.runs())[0]?.id as RunId);
    await engine.advance(5_000);
    expect(await engine.states()).toEqual(["aborted"]);
    calls[0]?.onEvent({ type: "text", delta: "too late" });
    calls[0]?.onEvent({ type: "restart" });
    await engine.tell("again");
    expect(streamed(events)).toEqual([]);
    expect(engine.shown()).toEqual(["second"]);
  });
});

describe("the wire form of a tool", () => {
  it("is the same object each time, so that its bytes never change", async () => {
    const engine = await TestEngine.open({ tools: { work: { input: z.object({ path: z.string() }) } } });
    await engine.tell("one");
    await engine.tell("two");
    const [one, two] = engine.requests;
    expect(one?.tools[0]).toBe(two?.tools[0]);
    expect(one?.tools[0]).toMatchObject({ name: "work", parameters: { properties: { path: { type: "string" } } } });
  });
});
