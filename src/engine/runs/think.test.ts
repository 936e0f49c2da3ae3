import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TestEngine } from "../../../test/kit/engine.ts";
import { failure, inTurn } from "../../../test/kit/model.ts";
import type { RunId } from "../../core/ids.ts";

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
