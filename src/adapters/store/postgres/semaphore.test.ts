import { expect, test } from "vitest";
import { clean, cleanIfAny } from "./clean-text.ts";
import { whole } from "./op-form.ts";
import { Semaphore } from "./semaphore.ts";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

test("a semaphore gives its slots out in the order in which they were asked for, and each back once", async () => {
  const semaphore = new Semaphore(2);
  const order: number[] = [];
  const releases: (() => void)[] = [];
  const acquire = async (n: number): Promise<void> => {
    releases[n] = await semaphore.acquire();
    order.push(n);
  };
  for (const n of [0, 1, 2, 3, 4]) void acquire(n);
  await turns();
  expect(order).toEqual([0, 1]);
  releases[1]?.();
  releases[1]?.();
  await turns();
  expect(order).toEqual([0, 1, 2]);
  releases[0]?.();
  releases[2]?.();
  await turns();
  expect(order).toEqual([0, 1, 2, 3, 4]);
  releases[3]?.();
  releases[4]?.();
  for (const n of [5, 6, 7]) void acquire(n);
  await turns();
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

test("text for the database has neither zero bytes nor lone surrogates, and is otherwise as it was", () => {
  expect(clean("plain ä 🦅")).toBe("plain ä 🦅");
  expect(clean("a\0b\0")).toBe("a\uFFFDb\uFFFD");
  expect(clean("a\ud800b")).toBe("a\uFFFDb");
  expect(clean("\udc00\0")).toBe("\uFFFD\uFFFD");
  expect([cleanIfAny(undefined), cleanIfAny("a\0")]).toEqual([undefined, "a\uFFFD"]);
});

test("a time for the database is a whole number that a column holds", () => {
  expect([whole(1.9), whole(5), whole(Number.POSITIVE_INFINITY), whole(1e300)]).toEqual([
    1,
    5,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
  ]);
});
