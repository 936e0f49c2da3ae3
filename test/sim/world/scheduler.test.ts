import { expect, test } from "vitest";
import { makeScheduler } from "./scheduler.ts";

const throwing = (error: unknown): never => {
  throw error;
};

test("events happen by time, and at the same time in the order they were scheduled", async () => {
  const scheduler = makeScheduler(throwing);
  const seen: string[] = [];
  scheduler.after(20, () => seen.push("c"));
  scheduler.after(10, () => seen.push("a"));
  scheduler.after(10, () => seen.push("b"));
  await scheduler.run(100);
  expect(seen).toEqual(["a", "b", "c"]);
  expect(scheduler.time).toBe(100);
});

test("all work that an event starts ends before the next event begins", async () => {
  const scheduler = makeScheduler(throwing);
  const seen: string[] = [];
  scheduler.after(1, () => {
    void (async () => {
      for (let n = 0; n < 50; n++) await Promise.resolve();
      seen.push("the follow-up of the first");
    })();
  });
  scheduler.after(1, () => seen.push("the second"));
  await scheduler.run(10);
  expect(seen).toEqual(["the follow-up of the first", "the second"]);
});

test("a cancelled event does not happen", async () => {
  const scheduler = makeScheduler(throwing);
  let happened = false;
  const cancel = scheduler.after(5, () => {
    happened = true;
  });
  scheduler.after(1, cancel);
  await scheduler.run(10);
  expect(happened).toBe(false);
});
