import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { collectWhenIdle } from "./collect-when-idle.ts";

describe("the idle collector", () => {
  it("collects once when much work pauses, and not during the work", async () => {
    const clock = virtualClock();
    let collected = 0;
    const collector = collectWhenIdle(clock, () => {
      collected += 1;
    });
    const later = (ms: number) => clock.advance(ms);
    for (let n = 0; n < 100; n++) {
      collector.worked();
      await later(100);
    }
    expect(collected).toBe(0);
    await later(300);
    expect([collected, clock.timers]).toEqual([1, 0]);
  });

  it("collects once when the start, or a little work, is over for ten seconds", async () => {
    const clock = virtualClock();
    let collected = 0;
    const collector = collectWhenIdle(clock, () => {
      collected += 1;
    });
    await clock.advance(10_000);
    expect([collected, clock.timers]).toEqual([1, 0]);
    collector.worked();
    await clock.advance(9_999);
    expect(collected).toBe(1);
    await clock.advance(1);
    expect([collected, clock.timers]).toEqual([2, 0]);
    collector.worked();
    collector.stop();
    expect(clock.timers).toBe(0);
  });

  it("can collect garbage in this process", async () => {
    const clock = virtualClock();
    const collector = collectWhenIdle(clock);
    for (let n = 0; n < 50; n++) collector.worked();
    await clock.advance(1_000);
    expect(clock.timers).toBe(0);
  });
});
