import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunId } from "../../core/ids.ts";
import { failure, inTurn, Nest } from "../agents/engine.test-kit.ts";

const times = async (nest: Nest, until: number, step = 500): Promise<number[]> => {
  const at: number[] = [];
  for (let now = 0; now <= until; now += step) {
    while (at.length < nest.requests.length) at.push(now);
    await nest.advance(step);
  }
  return at;
};

describe("a model that fails", () => {
  it("for a moment is asked three times, after two and four seconds, and then the person is told", async () => {
    const nest = await Nest.open({ script: () => failure("transient") });
    await nest.tell("go");
    expect(await times(nest, 30_000)).toEqual([0, 2_000, 6_000]);
    expect(await nest.states()).toEqual(["failed"]);
    expect(nest.shown()).toHaveLength(1);
  });

  it("for a moment and then answers has answered", async () => {
    const nest = await Nest.open({ script: inTurn(failure("transient"), failure("transient"), "at last") });
    await nest.tell("go");
    await nest.advance(10_000);
    expect(nest.shown()).toEqual(["at last"]);
    expect(await nest.transcript()).toEqual(["user: go", "assistant: at last"]);
  });

  it("because of its rate is asked again when it says so", async () => {
    const nest = await Nest.open({ script: inTurn(failure("rate", { retryAfterMs: 30_000 }), "at last") });
    await nest.tell("go");
    expect(await times(nest, 40_000)).toEqual([0, 30_000]);
    expect(nest.shown()).toEqual(["at last"]);
  });

  it("because of its rate is asked five times at most", async () => {
    const nest = await Nest.open({ script: () => failure("rate", { retryAfterMs: 1_000 }) });
    await nest.tell("go");
    await nest.advance(60_000);
    expect(nest.requests).toHaveLength(5);
    expect(await nest.states()).toEqual(["failed"]);
  });

  it("is sent the very same context each time", async () => {
    const nest = await Nest.open({ script: inTurn(failure("transient"), "fine") });
    await nest.tell("go");
    await nest.advance(5_000);
    expect(nest.sentBytes[1]).toBe(nest.sentBytes[0]);
  });

  it("is not asked again where the run is aborted during the wait", async () => {
    const nest = await Nest.open({ script: () => failure("transient") });
    await nest.tell("go");
    const [run] = await nest.runs();
    await nest.system.abort(run?.id as RunId);
    await nest.advance(60_000);
    expect(nest.requests).toHaveLength(1);
    expect(await nest.states()).toEqual(["aborted"]);
    expect(nest.shown()).toEqual([]);
  });

  it("does not keep a drain waiting", async () => {
    const nest = await Nest.open({ script: inTurn(failure("transient"), "fine") });
    await nest.tell("go");
    await nest.drain();
    await nest.restart();
    expect(nest.shown()).toEqual(["fine"]);
  });

  it("holds no timer once the run has ended", async () => {
    const nest = await Nest.open({ script: inTurn(failure("transient"), "fine") });
    const before = nest.clock.timers;
    await nest.tell("go");
    await nest.advance(5_000);
    expect(nest.clock.timers).toBeLessThanOrEqual(before);
  });
});

describe("a tool as the model is told of it", () => {
  it("is the same object each time, so that its bytes never change", async () => {
    const nest = await Nest.open({ tools: { work: { input: z.object({ path: z.string() }) } } });
    await nest.tell("one");
    await nest.tell("two");
    const [one, two] = nest.requests;
    expect(one?.tools[0]).toBe(two?.tools[0]);
    expect(one?.tools[0]).toMatchObject({ name: "work", parameters: { properties: { path: { type: "string" } } } });
  });
});
