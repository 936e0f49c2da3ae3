import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { inTurn, stall } from "../../../test/kit/model.ts";
import type { RunEvent } from "../runtime/run-events.ts";

describe("the events of a run", () => {
  it("cover every phase, numbered without gaps", async () => {
    const events: RunEvent[] = [];
    const engine = await TestEngine.open({
      script: async (call) => {
        call.onEvent({ type: "thinking", delta: "hm" });
        call.onEvent({ type: "text", delta: "w" });
        return call.n === 1 ? { call: [{ name: "work" }] } : "done";
      },
      tools: {
        work: {
          execute: (_input, { progress }) => {
            progress("half");
            return "ok";
          },
        },
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    expect(events.map(({ type }) => type)).toEqual([
      "start",
      "delta",
      "delta",
      "step",
      "tool_start",
      "tool_update",
      "tool_end",
      "step",
      "delta",
      "delta",
      "end",
    ]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
  });

  it("say of each call how it ended, and of its progress at most 10,000 characters", async () => {
    const events: RunEvent[] = [];
    const engine = await TestEngine.open({
      script: inTurn({ call: [{ name: "good" }, { name: "bad" }] }, "done"),
      tools: {
        good: {
          execute: (_input, { progress }) => {
            progress("x".repeat(10_001));
            return "fine";
          },
        },
        bad: { execute: () => ({ content: [{ type: "text", text: "no" }], isError: true }) },
      },
    });
    engine.system.events.listen((event) => events.push(event));
    await engine.tell("go");
    const ends = events.flatMap((event) => (event.type === "tool_end" ? [[event.name, event.isError]] : []));
    expect(ends).toEqual([
      ["good", false],
      ["bad", true],
    ]);
    expect(events.flatMap((event) => (event.type === "tool_update" ? [event.text] : []))).toEqual(["x".repeat(10_000)]);
  });

  it("begin again with `restart` after a crash, which voids the streamed text", async () => {
    const engine = await TestEngine.open({ script: (call) => stall(call, new Promise(() => {}), "half") });
    await engine.tell("go");
    engine.script = () => "whole";
    const events: RunEvent[] = [];
    engine.crash();
    await engine.retire();
    engine.make();
    engine.system.events.listen((event) => events.push(event));
    await engine.system.load();
    await engine.system.start();
    await engine.settle();
    expect(events.map(({ type }) => type)).toEqual(["restart", "end"]);
    expect(events[0]).toMatchObject({ attempt: 2, seq: 1 });
  });

  it("do not slow or break the run if a listener is slow or throws", async () => {
    const engine = await TestEngine.open();
    const seen: string[] = [];
    engine.system.events.listen(() => {
      throw new TypeError("bad listener");
    });
    engine.system.events.listen(() => new Promise(() => {}) as never);
    const stop = engine.system.events.listen(({ type }) => seen.push(type));
    await engine.tell("one");
    expect(engine.shown()).toEqual(["answer to one"]);
    expect(seen).toEqual(["start", "end"]);
    stop();
    await engine.tell("two");
    expect(seen).toHaveLength(2);
  });
});
