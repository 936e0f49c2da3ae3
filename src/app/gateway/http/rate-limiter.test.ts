import { expect, it } from "vitest";
import { virtualClock } from "../../../../test/kit/clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

it("grants a burst, refills over time, and forgets the name unused for longest", async () => {
  const clock = virtualClock();
  const limiter = new RateLimiter(clock.monotonic, 2);
  const rate = { burst: 2, perSecond: 1 };
  expect([1, 2, 3].map(() => limiter.take("a", rate))).toEqual([0, 0, 1_000]);
  await clock.advance(500);
  expect(limiter.take("a", rate)).toBe(500);
  await clock.advance(500);
  expect(limiter.take("a", rate)).toBe(0);
  limiter.take("b", rate);
  limiter.take("c", rate);
  expect(limiter.take("a", rate)).toBe(0);
});
