import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../test/kit/clock.ts";
import { trimWhenQuiet } from "./trim-when-quiet.ts";

describe("memory", () => {
  it("is given back once after much work, when it has paused, and not while it goes on", async () => {
    const clock = virtualClock();
    let collected = 0;
    const trimmer = trimWhenQuiet(clock, () => {
      collected += 1;
    });
    const later = (ms: number) => clock.advance(ms);
    for (let n = 0; n < 100; n++) {
      trimmer.touched();
      await later(100);
    }
    expect(collected).toBe(0);
    await later(300);
    expect([collected, clock.timers]).toEqual([1, 0]);
    trimmer.touched();
    await later(10_000);
    expect([collected, clock.timers]).toEqual([1, 0]);
  });

  it("can be given back in this process", async () => {
    const clock = virtualClock();
    const trimmer = trimWhenQuiet(clock);
    for (let n = 0; n < 50; n++) trimmer.touched();
    await clock.advance(1_000);
    expect(clock.timers).toBe(0);
  });
});
