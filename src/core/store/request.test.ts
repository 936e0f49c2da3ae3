import { expect, test } from "vitest";
import { joinsEarlier } from "./request.ts";

test("a request is the earlier one again while nobody has gone on", () => {
  const joins = (isRetry: boolean) =>
    [false, true].flatMap((finished) => [false, true].map((later) => joinsEarlier({ isRetry, finished, later })));
  // Neither, only a later message, only finished, both.
  expect(joins(true)).toEqual([true, true, true, false]);
  expect(joins(false)).toEqual([true, false, false, false]);
});
