import { expect, test } from "vitest";
import { joinsEarlier } from "./request.ts";

test("joins an earlier request until a later message is accepted, or while its own is open", () => {
  const joins = (isRetry: boolean, open: boolean) =>
    [false, true].flatMap((finished) => [false, true].map((later) => joinsEarlier({ isRetry, finished, later, open })));
  // Neither, only a later message, only finished, both.
  expect(joins(true, false)).toEqual([true, true, true, false]);
  expect(joins(true, true)).toEqual([true, true, true, false]);
  expect(joins(false, false)).toEqual([true, false, false, false]);
  expect(joins(false, true)).toEqual([true, true, false, false]);
});
