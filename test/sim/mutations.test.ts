import { expect, test } from "vitest";
import { hunt, scenarioOf } from "./hunt.ts";
import { minimalActor } from "./minimal-actor.ts";
import { MUTATIONS } from "./mutations.ts";
import { runWorld } from "./world.ts";

test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
  "%s is found, and the sound program passes the same seed",
  async (_, mutation) => {
    const { seed, laws } = await hunt(mutation);
    expect(seed, `${mutation.about}: not found in ${mutation.seeds} seeds of ${mutation.scenario}`).toBeDefined();
    expect(laws).toContain(mutation.law);
    const sound = await runWorld({ seed: seed ?? 1, scenario: scenarioOf(mutation), subject: minimalActor() });
    expect(sound.violations).toEqual([]);
  },
);
