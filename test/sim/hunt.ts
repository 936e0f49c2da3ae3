/** Looks for a mutation with the eyes of the auditor: seed after seed until its law is found broken. */
import type { Law, Violation } from "./auditor.ts";
import { minimalActor } from "./minimal-actor.ts";
import type { Mutation } from "./mutations.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { runWorld } from "./world.ts";

export interface Catch {
  /** The seed that found it, or undefined where none of them did. */
  readonly seed: number | undefined;
  /** Every law that was found broken on the way. */
  readonly laws: readonly Law[];
  readonly first: Violation | undefined;
}

export async function hunt(mutation: Mutation): Promise<Catch> {
  const laws = new Set<Law>();
  for (let seed = 1; seed <= mutation.seeds; seed++) {
    const subject = minimalActor(mutation.quirks);
    const world = { seed, scenario: scenarioOf(mutation), subject, mutateStore: mutation.store };
    const { violations } = await runWorld(world);
    for (const { law } of violations) laws.add(law);
    const first = violations.find(({ law }) => law === mutation.law);
    if (first) return { seed, laws: [...laws], first };
  }
  return { seed: undefined, laws: [...laws], first: undefined };
}

export function scenarioOf({ scenario }: Mutation): Scenario {
  const found = SCENARIOS.find(({ name }) => name === scenario);
  if (!found) throw new Error(`There is no scenario ${scenario}.`);
  return found;
}
