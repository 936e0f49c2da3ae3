/** A system that has stopped: nothing of it goes on, and nothing keeps the process alive. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { stall } from "../../../test/kit/model.ts";
import type { Connector } from "../../core/ports/connector.ts";
import { family } from "../subagents/family.test-kit.ts";
import { AgentSystem } from "./agent-system.ts";

describe("a system that has stopped", () => {
  it("leaves no timer, also if it has children and a run that was paused", async () => {
    const engine = await TestEngine.open({
      children: true,
      script: (call) => family({ child: () => stall(call, new Promise(() => {})) })(call),
    });
    await engine.tell("spawn a");
    await engine.advance(5_000);
    await engine.drain();
    expect(engine.clock.timers).toBe(0);
  });

  it("begins no run for a message that comes afterwards; the next process answers it", async () => {
    const engine = await TestEngine.open();
    await engine.tell("hi");
    await engine.drain();
    await engine.say("late").catch(() => undefined);
    await engine.settle();
    await engine.advance(60_000);
    expect(engine.shown()).toEqual(["answer to hi"]);
    expect(engine.requests).toHaveLength(1);
  });

  it.each([
    [true, ["start", "stop"]],
    [false, []],
  ])("has stopped the connectors that it started, and no others (started: %s)", async (started, calls) => {
    const engine = TestEngine.unloaded();
    const seen: string[] = [];
    const ports = engine.ports({ alive: true, name: "drained" });
    const [one] = ports.connectors.values();
    if (!one) throw new TypeError("no connector");
    const watched: Connector = {
      ...one,
      start: async () => void seen.push("start"),
      stop: async () => void seen.push("stop"),
    };
    const system = new AgentSystem(
      { ...ports, connectors: new Map([["test", watched]]) },
      {
        ...{ nodeName: "drained", resolveModel: () => ({ model: "m", system: "" }) },
      },
    );
    await system.load();
    if (started) await system.start();
    await system.drain();
    expect(seen).toEqual(calls);
  });

  it("that never joined leaves nothing", async () => {
    const engine = TestEngine.unloaded();
    await engine.drain();
    expect([engine.commits, engine.logged("warn")]).toEqual([[], []]);
  });
});
