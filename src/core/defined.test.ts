import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("drops undefined and keeps every other value", () => {
  expect(Object.keys(defined({ a: undefined, b: null, c: 0, d: "", e: false }))).toEqual(["b", "c", "d", "e"]);
});

test("does not override when it is spread", () => {
  expect({ a: 1, ...defined({ a: undefined as number | undefined }) }).toEqual({ a: 1 });
});
