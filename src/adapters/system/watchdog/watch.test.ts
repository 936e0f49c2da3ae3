import { describe, expect, it } from "vitest";
import { watching } from "./watch.ts";

const limits = { tickMs: 500, blockedMs: 2_000, drainMs: 3_000 };
/** The answers to one look per tick. `beats`: the engine's beats at that tick. */
const looks = (beats: readonly number[], draining = false, more: object = {}) => {
  const look = watching({ ...limits, ...more });
  return beats.map((count) => look({ beats: count, draining }));
};

describe("the watchdog", () => {
  it("ends a process that did not beat for the given number of ticks", () => {
    expect(looks([1, 2, 2, 2, 2, 2])).toEqual([...Array(5).fill(undefined), "blocked"]);
  });

  it("counts its own ticks, so that a suspended machine ends nothing", () => {
    // Between two ticks any time may pass; the first beat after that starts the count again.
    expect(looks([1, 1, 1, 1, 2, 2, 2, 2])).toEqual(Array(8).fill(undefined));
  });

  it("ends a process that beats but does not stop in time", () => {
    expect(looks([1, 2, 3, 4, 5, 6], true)).toEqual([...Array(5).fill(undefined), "drain"]);
  });

  it("does not end a blocked process if the limit is 0", () => {
    expect(looks(Array(50).fill(1), false, { blockedMs: 0 })).toEqual(Array(50).fill(undefined));
  });
});
