import { expect, test } from "vitest";
import { withDefaults, withFields } from "./live-options.ts";

test("options read their values at each use", () => {
  let given: { a?: number; b?: number; c?: number } | undefined = { a: 1, c: 3 };
  const options = withDefaults<{ a: number; b: number; c?: number }>({ a: 10, b: 20 }, () => given);
  expect({ ...options }).toEqual({ a: 1, b: 20, c: 3 });
  given = { b: 2 };
  expect({ ...options }).toEqual({ a: 10, b: 2, c: undefined });
  given = undefined;
  expect(options.b).toBe(20);
});

test("added fields hide those below, which stay live", () => {
  const base = { a: 1, b: 2 };
  const options = withFields(base, { b: 3, c: 4 });
  base.a = 5;
  expect([options.a, options.b, options.c]).toEqual([5, 3, 4]);
});
