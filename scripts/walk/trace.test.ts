import { expect, it } from "vitest";
import { filesOf, usualTrace } from "./trace.ts";

it("leaves out of a trace what other messages do not pass, and takes the one with the middle number of switches", () => {
  const [a, b, timer] = ["src/core/a.ts", "src/engine/inbox/b.ts", "src/adapters/system/timer.ts"];
  const trace = usualTrace([
    [a, b, a, b, a],
    [b, timer, a],
    [a, b, a],
  ]);
  expect(trace).toEqual([a, b, a]);
  expect(filesOf(trace)).toEqual([a, b]);
});
