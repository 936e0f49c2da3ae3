/** Runs a mutation seed after seed until the auditor finds its law broken. */
import type { Law, Violation } from "../audit/audit-view.ts";
import { scenarioNamed } from "../scenarios/scenarios.ts";
import { minimalActor } from "../subjects/minimal-actor.ts";
import type { SubjectUnderTest } from "../subjects/subject.ts";
import { runWorld, type WorldResult } from "../world/run-world.ts";
import type { Mutation } from "./mutations.ts";

export interface Catch {
  /** The seed that found it, or undefined if none did. */
  readonly seed: number | undefined;
  /** Every law that was found broken. */
  readonly laws: readonly Law[];
  readonly first: Violation | undefined;
}

/** A hunt ends at the first seed that finds the mutation, so this only bounds one that no seed finds. */
export const MAX_SEEDS = 150;
/** A mutated world gets less time to become idle than a sound one. */
const HUNT_REST_MS = 60_000;

/** `subject`: the program with the mutation around it. Default: the minimal actor with its quirks. */
export async function hunt(mutation: Mutation, subject = minimalActor(mutation.quirks)): Promise<Catch> {
  const laws = new Set<Law>();
  const scenario = scenarioNamed(mutation.scenario);
  const { store: mutateStore, ports: mutatePorts, index: mutateIndex, restMs = HUNT_REST_MS } = mutation;
  const { from = 1 } = mutation;
  for (let seed = from; seed < from + MAX_SEEDS; seed++) {
    const world = { seed, scenario, subject, mutateStore, mutatePorts, mutateIndex, restMs };
    const { violations } = await runWorld(world);
    for (const { law } of violations) laws.add(law);
    const first = violations.find(({ law }) => law === mutation.law);
    if (first) return { seed, laws: [...laws], first };
  }
  return { seed: undefined, laws: [...laws], first: undefined };
}

const sound = new Map<string, Promise<WorldResult>>();

/** The unchanged program in the world that found the mutation. Each such world runs once. */
export function withoutMutation(mutation: Mutation, subject: SubjectUnderTest, seed: number): Promise<WorldResult> {
  const key = `${subject.name}/${mutation.scenario}/${seed}`;
  const known = sound.get(key) ?? runWorld({ seed, scenario: scenarioNamed(mutation.scenario), subject });
  sound.set(key, known);
  return known;
}
