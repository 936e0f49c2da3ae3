import { expect, test } from "vitest";
import { stride } from "../../kit/share.ts";
import { minimalActor } from "../subjects/minimal-actor.ts";
import { hunt, MAX_SEEDS, withoutMutation } from "./hunt.ts";
import { MUTATIONS } from "./mutations.ts";

test.each(
  MUTATIONS.filter((_, index) => index % stride(8) === 0).map((mutation) => [mutation.name, mutation] as const),
)("the auditor finds %s, and the unchanged program passes the same seed", async (_, mutation) => {
  const { seed, laws } = await hunt(mutation);
  expect(seed, `${mutation.about}: not found in ${MAX_SEEDS} seeds of ${mutation.scenario}`).toBeDefined();
  expect(laws).toContain(mutation.law);
  expect((await withoutMutation(mutation, minimalActor(), seed ?? 1)).violations).toEqual([]);
});
