/** A system that has stopped: nothing of it goes on, and nothing keeps the process alive. */
import { describe, expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { stall } from "../../../test/kit/model.ts";
import { family } from "../subagents/family.test-kit.ts";

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
});
